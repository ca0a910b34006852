package oracle

import (
	"sort"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/zone"
)

// told is what one visit or engagement adds in a minute.
type told struct {
	minute int64
	entry  hit.Hit  // that the visit begins with; of an engagement without a visit itself
	exit   string   // page that the visit ends with
	read   *hit.Hit // the engagement; nil for a visit
	counts Counts
}

// part is what is known in a partition: the visitors who were seen in the last hour of receipt, as lists of all their hits.
type part struct {
	now    int64 // latest receipt
	people []*person
}

type person struct {
	site   uint32
	ids    []uint64
	seen   int64 // receipt
	visits []*sitting
	pages  []*page
}

// sitting is a visit as the hits that it is made of.
type sitting struct {
	hits  []hit.Hit // in the order they came
	until int64     // of the last engagement
}

type page struct {
	path   string
	minute int64
	depth  int64
}

func (s *sitting) sorted() []hit.Hit {
	hits := append([]hit.Hit{}, s.hits...)
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].TimeMs < hits[j].TimeMs })
	return hits
}

func (s *sitting) bounds() (first, last int64) {
	hits := s.sorted()
	return hits[0].TimeMs, max(hits[len(hits)-1].TimeMs, s.until)
}

const halfHour = 1_800_000

func (s *sitting) near(timeMs int64) bool {
	first, last := s.bounds()
	return timeMs >= first-halfHour && timeMs <= last+halfHour
}

// tell says what a visit adds.
func (s *sitting) tell() told {
	hits := s.sorted()
	first, last := s.bounds()
	t := told{minute: floorDiv(first, 60_000), entry: hits[0], counts: Counts{Visits: 1, Bounces: 1, DurationMs: last - first}}
	views := 0
	for _, h := range hits {
		if h.Kind == hit.Pageview {
			views++
		} else if h.Kind == hit.Click || !h.NonInteractive {
			t.counts.Bounces = 0
		}
		if h.Kind != hit.Click {
			if t.exit = h.Path; t.exit == "" {
				t.exit = "/"
			}
		}
	}
	if views > 1 {
		t.counts.Bounces = 0
	}
	return t
}

func (o *Oracle) receive(partition int32, receivedMs int64) *part {
	p := o.parts[partition]
	if p == nil {
		p = &part{}
		o.parts[partition] = p
	}
	p.now = max(p.now, receivedMs)
	return p
}

// visit adds a hit to the visits of its visitor.
func (o *Oracle) visit(partition int32, h hit.Hit) {
	p := o.receive(partition, h.ReceivedMs)
	var kept []*person
	for _, one := range p.people {
		if p.now-one.seen <= 2*halfHour {
			kept = append(kept, one)
		} else {
			o.close(one)
		}
	}
	p.people = kept
	switch {
	case h.Bot:
	case h.Kind == hit.Engagement:
		if h.EngagedMs > 0 || h.ScrollPercent > 0 {
			o.engage(p, h)
		}
	case h.Visitor != 0 && (h.Kind == hit.Pageview || h.Kind == hit.Event || h.Kind == hit.Click):
		who := o.find(p, h)
		if h.Kind == hit.Pageview {
			var pages []*page
			for _, g := range who.pages {
				if g.path != h.Path {
					pages = append(pages, g)
				}
			}
			who.pages = pages
		}
		joined := &sitting{}
		var others []*sitting
		for _, s := range who.visits {
			if s.near(h.TimeMs) {
				joined.hits, joined.until = append(joined.hits, s.hits...), max(joined.until, s.until)
			} else {
				others = append(others, s)
			}
		}
		joined.hits = append(joined.hits, h)
		if len(others) > 3 {
			o.told[h.SiteID] = append(o.told[h.SiteID], others[0].tell())
			others = others[1:]
		}
		who.visits = append(others, joined)
	}
}

// close keeps what is told of a visitor who is forgotten.
func (o *Oracle) close(p *person) {
	for _, s := range p.visits {
		o.told[p.site] = append(o.told[p.site], s.tell())
	}
}

// find returns the visitor of a hit: the one of its id, and the one of its next id, who is the same.
func (o *Oracle) find(p *part, h hit.Hit) *person {
	now, next := p.of(h.SiteID, h.Visitor), p.of(h.SiteID, h.VisitorNext)
	switch {
	case now != nil && next != nil && now != next:
		now.ids, now.visits, now.pages = append(now.ids, next.ids...), append(now.visits, next.visits...), append(now.pages, next.pages...)
		for ; len(now.visits) > 4; now.visits = now.visits[1:] {
			o.told[h.SiteID] = append(o.told[h.SiteID], now.visits[0].tell())
		}
		now.pages = now.pages[max(0, len(now.pages)-8):]
		next.visits, next.ids = nil, nil
	case now == nil && next == nil:
		now = &person{site: h.SiteID, ids: []uint64{h.Visitor}}
		p.people = append(p.people, now)
	case now == nil:
		now = next
		now.ids = append(now.ids, h.Visitor)
	}
	if h.VisitorNext != 0 && !now.knows(h.VisitorNext) {
		now.ids = append(now.ids, h.VisitorNext)
	}
	now.seen = p.now
	return now
}

func (p *part) of(site uint32, id uint64) *person {
	for _, one := range p.people {
		if one.site == site && id != 0 && one.knows(id) {
			return one
		}
	}
	return nil
}

func (p *person) knows(id uint64) bool {
	for _, one := range p.ids {
		if one == id {
			return true
		}
	}
	return false
}

func (o *Oracle) engage(p *part, h hit.Hit) {
	add := func(minute int64, entry hit.Hit, c Counts) {
		o.told[h.SiteID] = append(o.told[h.SiteID], told{minute: minute, entry: entry, read: &h, counts: c})
	}
	minute := floorDiv(h.TimeMs, 60_000)
	if h.Visitor == 0 {
		c := Counts{EngagedMs: h.EngagedMs, ScrollSum: int64(h.ScrollPercent)}
		if h.ScrollPercent > 0 {
			c.ScrollViews = 1
		}
		add(minute, h, c)
		return
	}
	who, entry := o.find(p, h), h
	for i := len(who.visits) - 1; i >= 0; i-- {
		s := who.visits[i]
		if first, _ := s.bounds(); s.near(h.TimeMs) && h.TimeMs >= first {
			s.until, entry = max(s.until, h.TimeMs), s.sorted()[0]
			who.visits = append(append(append([]*sitting{}, who.visits[:i]...), who.visits[i+1:]...), s)
			break
		}
	}
	add(minute, entry, Counts{EngagedMs: h.EngagedMs})
	if h.ScrollPercent == 0 {
		return
	}
	for _, g := range who.pages {
		if g.path == h.Path {
			if deeper := int64(h.ScrollPercent) - g.depth; deeper > 0 {
				g.depth += deeper
				add(g.minute, entry, Counts{ScrollSum: deeper})
			}
			return
		}
	}
	if len(who.pages) == 8 {
		who.pages = who.pages[1:]
	}
	who.pages = append(who.pages, &page{h.Path, minute, int64(h.ScrollPercent)})
	add(minute, entry, Counts{ScrollSum: int64(h.ScrollPercent), ScrollViews: 1})
}

// addTold adds what visits and engagements add to the rows of an answer.
func (o *Oracle) addTold(q Question, z *zone.Zone, rows map[Cell]Counts) {
	all := append([]told{}, o.told[q.Site]...)
	for _, p := range o.parts {
		for _, one := range p.people {
			for _, s := range one.visits {
				if one.site == q.Site {
					all = append(all, s.tell())
				}
			}
		}
	}
	for i := range all {
		t := &all[i]
		at := t.minute * 60
		if q.Link != "" && t.entry.Link != q.Link || q.From != q.To && (at < q.From || at >= q.To) {
			continue
		}
		key, ok := t.keyOf(q.By)
		if !ok {
			continue
		}
		cell := Cell{Key: key}
		if q.Every != 0 {
			cell.Start = o.start(z, q.Every, at)
		}
		c := rows[cell]
		c.Visits += t.counts.Visits
		c.Bounces += t.counts.Bounces
		c.DurationMs += t.counts.DurationMs
		c.EngagedMs += t.counts.EngagedMs
		c.ScrollSum += t.counts.ScrollSum
		c.ScrollViews += t.counts.ScrollViews
		rows[cell] = c
	}
}

func (t *told) keyOf(by string) (string, bool) {
	path := func(h *hit.Hit) string {
		if h.Path == "" {
			return "/"
		}
		return h.Path
	}
	switch {
	case by == "page":
		if t.read == nil {
			return "", false
		}
		return path(t.read), true
	case by == "entry":
		return path(&t.entry), t.entry.Kind == hit.Pageview || t.entry.Kind == hit.Event
	case by == "title" || by == "event":
		return "", false
	case by == "hostname":
		return t.entry.Host, t.entry.Host != ""
	case by == "exit":
		return t.exit, t.exit != ""
	default:
		return keyOf(by, &t.entry)
	}
}
