package ingest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unsafe"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/visitor"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// intake takes the hits of one request or import: one snapshot of the cluster state, one clock reading, the batches to wait for. It is
// used by one goroutine.
type intake struct {
	i           *Ingest
	state       *state.State
	days        visitor.Days
	parts       []*partition
	receivedMs  int64
	waits       waits
	touched     []bool // partitions with hits that are not flushed
	touchedRoom [16]bool
	bots        int
	hits        int
	lastVisitor uint64 // of the hit queued last
	source      origin
	level       ack  // how long the sender waits
	asked       bool // the sender has named the level
	alone       bool // nobody waits for the hits

	siteName  string // asked for last
	site      state.Site
	siteKnown bool

	referrers map[string]referrer
}

// referrer is a cleaned referrer.
type referrer struct {
	address, host string
	spam          bool
}

// maxReferrers bounds the referrers that an intake remembers.
const maxReferrers = 512

// newIntake returns an intake for an import, or for a request that waits for nothing that it could choose.
func (i *Ingest) newIntake(from origin) (*intake, error) {
	if i.queue.stopping() {
		return nil, errStopping
	}
	s := i.cfg.Sites.State()
	parts, err := i.queue.partitions(s)
	if err != nil {
		return nil, err
	}
	t := &intake{i: i, state: s, days: i.days.Days(s), parts: parts, receivedMs: i.cfg.Now().UnixMilli(), source: from}
	if t.touched = t.touchedRoom[:]; len(parts) > len(t.touchedRoom) {
		t.touched = make([]bool, len(parts))
	}
	return t, nil
}

// intakeOf returns the intake of a request whose sender may choose how long to wait, see settle.
func (i *Ingest) intakeOf(r *http.Request, from origin) (*intake, error) {
	t, err := i.newIntake(from)
	if err == nil {
		t.level, t.asked = ackOf(r)
		t.alone = t.level == ackNone
	}
	return t, err
}

// findSite looks a site up by name, and is fast for runs of the same name.
func (t *intake) findSite(name string) (state.Site, bool) {
	if t.siteName == "" || name != t.siteName {
		t.site, t.siteKnown = t.state.SiteByName(name)
		t.siteName = strings.Clone(name) // name may be a view
	}
	return t.site, t.siteKnown
}

// referrer cleans a referrer, which is the same one for many hits of a batch. raw may be a view.
func (t *intake) referrer(raw string) referrer {
	if raw == "" {
		return referrer{}
	}
	if r, ok := t.referrers[raw]; ok {
		return r
	}
	r := newReferrer(raw)
	if t.referrers == nil {
		t.referrers = make(map[string]referrer, 16)
	}
	if len(t.referrers) < maxReferrers {
		r.address, r.host = strings.Clone(r.address), strings.Clone(r.host)
		t.referrers[strings.Clone(raw)] = r
	}
	return r
}

func newReferrer(raw string) (r referrer) {
	r.address, r.host = pageurl.Referrer(raw)
	r.spam = r.host != "" && bot.SpamReferrer(r.host)
	return r
}

// set puts the referrer into a hit. It returns the kind of bot that it speaks for, or the given one.
func (r *referrer) set(h *hit.Hit, botKind string) string {
	h.Referrer, h.RefHost = r.address, r.host
	if r.spam && botKind == "" {
		return bot.KindSpam
	}
	return botKind
}

// describe fills in what follows from the visitor's address and agent. botKind is what else speaks for a bot, or "".
func (t *intake) describe(h *hit.Hit, site state.Site, who visitor.Who, a *agent, botKind string) {
	h.SiteID, h.Site = site.ID, site.Name
	h.ReceivedMs = t.receivedMs
	if h.TimeMs == 0 {
		h.TimeMs = t.receivedMs
	}
	h.Visitor, h.VisitorNext = t.days.IDs(&site, h.TimeMs, who)
	place := t.i.places.Find(who.Addr)
	if place.Country != "" || h.Country == "" {
		h.Country, h.Region, h.RegionCode, h.City = place.Country, place.Region, place.RegionCode, place.City
	}
	if network := t.i.networks.Find(who.Addr); network.ASN != 0 {
		h.ASN, h.ASName = network.ASN, network.ASName
	} else {
		h.ASN, h.ASName = place.ASN, place.ASName
	}
	a.set(h)
	if botKind == "" {
		botKind = a.botKind
	}
	of := t.i.bySite.of(&site)
	if botKind == "" {
		botKind = t.i.rules.kind(h, who.Addr)
		if botKind == bot.KindDataCentre && of != nil && of.of.TakeDataCentres {
			botKind = ""
		}
	}
	if of != nil {
		if botKind == "" {
			botKind = of.kind(h, who.Addr)
		}
		of.clean(h)
	}
	h.Bot, h.BotKind = botKind != "", botKind
}

// put queues a hit for the visitor's partition. After an error the hit is certainly not written.
func (t *intake) put(h *hit.Hit, who visitor.Who, failures []uint64) error {
	number := visitor.Partition(t.state.RouteKey, h.SiteID, who, int32(len(t.parts)))
	seen := anyFailures
	if failures != nil {
		seen = failures[number]
	}
	b, err := t.parts[number].add(h, t.source, seen, t.alone)
	if err != nil {
		return err
	}
	t.waits.add(b)
	t.touched[number] = true
	t.hits++
	t.lastVisitor = h.Visitor
	if t.source != sourceImport && t.source != sourceClick { // those tell addresses of others
		t.i.proxies.place(h.Country)
	}
	if h.Bot {
		t.bots++
	}
	return nil
}

// inPart is what an error means for the request as a whole: hits that were queued before it are or will be written, so that nobody may say
// that nothing was.
func (t *intake) inPart(err error) error {
	if err == nil || t.hits == 0 || errors.Is(err, ErrNotWritten) {
		return err
	}
	return errors.Join(ErrOutcomeUnknown, err)
}

// wait has the queued hits written and waits until they are. See waits.wait.
func (t *intake) wait(ctx context.Context) error {
	t.flush()
	return t.waits.wait(ctx)
}

// flush has the queued hits written.
func (t *intake) flush() {
	for number, touched := range t.touched {
		if touched {
			t.parts[number].flush()
			t.touched[number] = false
		}
	}
}

// view returns bytes as text without a copy. The text is used only until the hit that holds it is encoded, and bodies are not changed
// before that.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
