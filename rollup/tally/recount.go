package tally

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/ring"
	"github.com/weir-analytics/weir/rollup/visit"
)

// Recount goes through the events of a partition once more, from its first one, with the rules of counting about repeats, times and visits,
// and says what those of one site add. It keeps nothing and writes nothing. One goroutine uses it.
type Recount struct {
	site     uint32
	exists   func(site uint32) bool
	next     int64
	received int64
	dedup    *dedup
	visits   *visit.Visits
	inc      *increments
	hit      hit.Hit
}

// NewRecount begins before the event at offset from. routeKey is that of the cluster, by which ids are hashed.
func NewRecount(routeKey [16]byte, from int64, site uint32, exists func(site uint32) bool) (*Recount, error) {
	visits, err := visit.New(nil)
	return &Recount{site: site, exists: exists, next: from, dedup: newDedup(routeKey, Saved{}), visits: visits, inc: newIncrements()}, err
}

// Take takes the next event.
func (c *Recount) Take(r *kgo.Record) error {
	if r.Offset != c.next {
		return fmt.Errorf("read events at offset %d, want %d: the log jumped", r.Offset, c.next)
	}
	c.next++
	h := &c.hit
	if hit.Borrow(r.Value, h) != nil {
		return nil
	}
	c.received = max(c.received, h.ReceivedMs)
	if c.dedup.repeat(h, c.received) || ring.Judge(h.TimeMs, h.ReceivedMs) != ring.Counts || !c.exists(h.SiteID) {
		c.forget()
		return nil
	}
	c.visits.Add(h, r.Offset, c.received, teller{c})
	if h.SiteID == c.site && h.Kind != hit.Engagement {
		c.inc.add(h)
	}
	c.forget()
	return nil
}

// forget lets go of what would be saved.
func (c *Recount) forget() {
	if c.next%1024 == 0 {
		c.dedup.takeChange(0, 0)
		c.visits.TakeChange()
	}
}

// Full says that Deltas is to be called before the next event.
func (c *Recount) Full() bool { return c.inc.sizeBound >= flushBytes }

// Deltas calls f with what the events since the last call add, minute by minute. The delta is valid during the call.
func (c *Recount) Deltas(f func(d *delta.Delta) error) error {
	if c.inc.empty() {
		return nil
	}
	err := c.inc.deltas(f)
	c.inc.reset()
	return err
}

// teller passes on what is told of one site.
type teller struct{ c *Recount }

func (t teller) Entry(v *visit.Visit, c delta.Counts) {
	if v.Site == t.c.site {
		t.c.inc.Entry(v, c)
	}
}

func (t teller) Exit(v *visit.Visit, c delta.Counts) {
	if v.Site == t.c.site {
		t.c.inc.Exit(v, c)
	}
}

func (t teller) Engaged(h *hit.Hit, v *visit.Visit, minute int64, c delta.Counts) {
	if h.SiteID == t.c.site {
		t.c.inc.Engaged(h, v, minute, c)
	}
}
