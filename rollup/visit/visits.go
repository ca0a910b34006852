package visit

import (
	"slices"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
)

// Visits are the visits of one partition of events. It is not safe for concurrent use.
type Visits struct {
	memory
	scratch []byte
}

// New returns Visits that go on from what was saved. The error wraps ErrDamaged.
func New(saved []Saved) (*Visits, error) {
	s := &Visits{memory: memory{byKey: make(map[key]int32, len(saved)), newest: none, oldest: none}}
	return s, s.load(saved)
}

// Add takes a hit, or an engagement, that was at an offset of the partition, and tells what it adds. receivedMs is the latest time of
// receipt up to and with the hit. Bots and other hits that make no visits are passed over.
func (s *Visits) Add(h *hit.Hit, offset, receivedMs int64, t Teller) {
	s.forgetBefore(receivedMs - Memory.Milliseconds())
	switch {
	case h.Kind == hit.Engagement:
		s.engage(h, offset, receivedMs, t)
	case Makes(h):
		p := s.meet(h, offset, receivedMs)
		p.forgetPage(h)
		s.visit(p, h, t)
		s.settle(p)
	}
}

// visit adds a hit to the visit of a visitor that it belongs to.
func (s *Visits) visit(p *person, h *hit.Hit, t Teller) {
	at, more := -1, false
	for i := range p.visits {
		if p.visits[i].has(h.TimeMs) {
			more = at >= 0
			at = i
		}
	}
	switch {
	case at < 0:
		s.begin(p, h, t)
	case more || h.TimeMs < p.visits[at].FirstMs:
		s.rebuild(p, h, t)
	default:
		s.goOn(p.latest(at), h, t)
	}
}

// begin begins a visit. When the visitor has many, the one that hits came to the longest ago can no longer be joined.
func (s *Visits) begin(p *person, h *hit.Hit, t Teller) {
	if len(p.visits) == maxVisits {
		p.visits = slices.Delete(p.visits, 0, 1)
	}
	p.visits = append(p.visits, Visit{Site: h.SiteID, FirstMs: h.TimeMs, LastMs: h.TimeMs})
	v := &p.visits[len(p.visits)-1]
	v.take(h, s)
	tell(v, v.Counts(), t)
}

// goOn adds a hit that does not change where a visit begins.
func (s *Visits) goOn(v *Visit, h *hit.Hit, t Teller) {
	before, exit := v.Counts(), v.Exit
	if exit != "" && pageOf(h) != exit && pageOf(h) != "" && h.TimeMs >= v.exitMs {
		t.Exit(v, negative(before))
		exit = ""
	}
	v.take(h, s)
	after := v.Counts()
	change := delta.Counts{Bounces: after.Bounces - before.Bounces, DurationMs: after.DurationMs - before.DurationMs}
	if change != (delta.Counts{}) {
		t.Entry(v, change)
	}
	switch {
	case v.Exit == "":
	case exit == "":
		t.Exit(v, after)
	case change != (delta.Counts{}):
		t.Exit(v, change)
	}
}

// rebuild takes the visits back that a hit belongs to, and tells the one that it makes of them.
func (s *Visits) rebuild(p *person, h *hit.Hit, t Teller) {
	var one Visit
	kept := p.visits[:0]
	for _, v := range p.visits {
		if !v.has(h.TimeMs) {
			kept = append(kept, v)
			continue
		}
		tell(&v, negative(v.Counts()), t)
		if one.Entry == nil {
			one = v
		} else {
			one.join(&v)
		}
	}
	clear(p.visits[len(kept):])
	one.Stamp = 0
	one.take(h, s)
	p.visits = append(kept, one)
	tell(&p.visits[len(p.visits)-1], one.Counts(), t)
}

// tell adds to all rows that a visit is in.
func tell(v *Visit, c delta.Counts, t Teller) {
	t.Entry(v, c)
	if v.Exit != "" {
		t.Exit(v, c)
	}
}

// engage adds an engagement. It prolongs the visit that it is in, begins none, and joins none.
func (s *Visits) engage(h *hit.Hit, offset, receivedMs int64, t Teller) {
	if h.Bot || h.EngagedMs <= 0 && h.ScrollPercent <= 0 {
		return
	}
	minute, scroll := floorDiv(h.TimeMs, 60_000), int64(min(max(h.ScrollPercent, 0), 100))
	own := delta.Counts{EngagedMs: max(h.EngagedMs, 0)}
	if h.Visitor == 0 {
		if own.ScrollSum = scroll; scroll > 0 {
			own.ScrollViews = 1
		}
		t.Engaged(h, nil, minute, own)
		return
	}
	p := s.meet(h, offset, receivedMs)
	v := p.visitAt(h.TimeMs)
	if v != nil && h.TimeMs > v.LastMs {
		longer := delta.Counts{DurationMs: h.TimeMs - v.LastMs}
		v.LastMs = h.TimeMs
		tell(v, longer, t)
	}
	scrolledIn, deeper, first := p.scroll(h, minute, scroll)
	if scrolledIn == minute {
		own.ScrollSum = deeper
		if first {
			own.ScrollViews = 1
		}
	} else if deeper > 0 {
		t.Engaged(h, v, scrolledIn, delta.Counts{ScrollSum: deeper})
	}
	if own != (delta.Counts{}) {
		t.Engaged(h, v, minute, own)
	}
	s.settle(p)
}

// encode returns a hit with what reports of visits look at.
func (s *Visits) encode(h *hit.Hit) []byte {
	e := hit.Hit{SiteID: h.SiteID, Site: h.Site, TimeMs: h.TimeMs, Kind: h.Kind, Name: h.Name, Host: h.Host, Path: h.Path, Query: h.Query,
		Fragment: h.Fragment, Title: h.Title, Referrer: h.Referrer, RefHost: h.RefHost, Link: h.Link, Country: h.Country, Region: h.Region,
		RegionCode: h.RegionCode, City: h.City, Browser: h.Browser, BrowserVersion: h.BrowserVersion, OS: h.OS, OSVersion: h.OSVersion,
		Device: h.Device, Campaign: h.Campaign, ClickID: h.ClickID, Language: h.Language, ScreenWidth: h.ScreenWidth}
	s.scratch = hit.Append(s.scratch[:0], &e)
	return slices.Clone(s.scratch)
}
