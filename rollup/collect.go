package rollup

import (
	"cmp"
	"slices"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/zone"
)

// collector adds cells up to rows. Cells come in order of time, those of the partitions of a window one after the other.
//
// Visitors are joined within a span: a day of the site's zone, or the window of the answer if that is shorter. When a span ends its
// visitors are counted and added to the row; when a window of the answer ends its rows are done. Only windows have to be joined: all hits
// of a visitor are in one partition, so partitions are added up, which is as exact and leaves sketches of windows that are a whole span
// unread.
type collector struct {
	p    *plan
	rows []Row
	unit zone.Unit // of the cells that come now

	window, span int64 // numbers of the window of the answer and of the span that are being added up
	windowStart  int64
	open         bool
	spans        int // in this window of the answer
	sums         map[string]*sum
	inSpan       []*sum // sums with visitors in this span

	union sketch.Union // memory that is used again
	exact bool
	daily bool
	start int64 // of the window before, to find its numbers only once
}

// sum is a row that is being added up.
type sum struct {
	key      string
	counts   bucket.Counts
	visitors int64 // of the spans that are over

	parts []part // of this span
}

// part is a sketch of one partition in one window.
type part struct {
	partition int32
	visitors  int64
	sketch    []byte
}

func newCollector(p *plan) *collector {
	return &collector{p: p, sums: map[string]*sum{}, exact: true, start: -1 << 62}
}

// cell takes the rows of a shard of a window.
func (c *collector) cell(start int64, partition int32, rows *bucket.Rows) error {
	if start != c.start {
		if err := c.turn(start); err != nil {
			return err
		}
	}
	whole := c.unit == zone.Day || c.unit == c.p.every // the window is a span
	for rows.Next() {
		s := c.sums[string(rows.Key)]
		if s == nil {
			s = &sum{key: string(rows.Key)}
			c.sums[s.key] = s
		}
		s.counts.Add(rows.Row.Counts)
		if len(rows.Row.Sketch) == 0 {
			continue
		}
		if whole {
			s.visitors += rows.Row.Visitors
			c.exact = c.exact && sketch.IsExact(rows.Row.Sketch)
			continue
		}
		if len(s.parts) == 0 {
			c.inSpan = append(c.inSpan, s)
		}
		s.parts = append(s.parts, part{partition, rows.Row.Visitors, slices.Clone(rows.Row.Sketch)})
	}
	return nil
}

// turn goes on to the cells of another window.
func (c *collector) turn(start int64) error {
	c.start = start
	window := int64(0)
	if c.p.every != 0 {
		window = c.p.zone.Index(c.p.every, start)
	}
	span := c.p.zone.Index(zone.Day, start)
	if c.p.every == zone.Minute || c.p.every == zone.Hour {
		span = window
	}
	if c.open && (window != c.window || span != c.span) {
		if err := c.endSpan(); err != nil {
			return err
		}
	}
	if c.open && window != c.window {
		c.endWindow()
	}
	if !c.open || window != c.window {
		c.windowStart = start
	}
	c.window, c.span, c.open = window, span, true
	return nil
}

func (c *collector) endSpan() error {
	for _, s := range c.inSpan {
		slices.SortStableFunc(s.parts, func(a, b part) int { return cmp.Compare(a.partition, b.partition) })
		for from, to := 0, 0; from < len(s.parts); from = to {
			for to < len(s.parts) && s.parts[to].partition == s.parts[from].partition {
				to++
			}
			visitors, err := c.join(s.parts[from:to])
			if err != nil {
				return err
			}
			s.visitors += visitors
		}
		clear(s.parts)
		s.parts = s.parts[:0]
	}
	c.inSpan = c.inSpan[:0]
	c.spans++
	c.daily = c.daily || c.spans > 1
	return nil
}

// join counts the visitors of one partition in some windows of a span.
func (c *collector) join(parts []part) (int64, error) {
	if len(parts) == 1 {
		c.exact = c.exact && sketch.IsExact(parts[0].sketch)
		return parts[0].visitors, nil
	}
	c.union.Reset(c.p.kind())
	for _, p := range parts {
		if err := c.union.Add(p.sketch); err != nil {
			return 0, err
		}
	}
	c.exact = c.exact && c.union.Exact()
	return c.union.Count(), nil
}

func (c *collector) endWindow() {
	from := len(c.rows)
	for _, s := range c.sums {
		if s.counts == (bucket.Counts{}) {
			continue // a visit was counted here and ended elsewhere
		}
		c.rows = append(c.rows, c.finished(s))
	}
	byVisitors(c.rows[from:])
	clear(c.sums)
	c.spans = 0
}

func (c *collector) finished(s *sum) Row {
	// An estimate may be off; more visitors than what they did would be nonsense.
	row := rowOf(s.key, s.counts, min(s.visitors, s.counts.Pageviews+s.counts.Events+s.counts.Clicks))
	if c.p.every != 0 {
		row.Start = c.p.time(c.p.zone.Window(c.p.every, c.windowStart).Start)
	}
	return row
}

func (c *collector) finish(limit int) ([]Row, error) {
	if c.open {
		if err := c.endSpan(); err != nil {
			return nil, err
		}
		c.endWindow()
	}
	if len(c.rows) == 0 && c.p.report == report.Total && c.p.every == 0 {
		c.rows = append(c.rows, Row{})
	}
	if limit > 0 && len(c.rows) > limit {
		c.rows = c.rows[:limit]
	}
	return c.rows, nil
}

func (c *collector) visitorsAre() string {
	switch {
	case c.daily:
		return VisitorsDaily
	case c.exact:
		return VisitorsExact
	default:
		return VisitorsUnion
	}
}

// byVisitors puts rows into a total order, so that a list cut anywhere goes on where it was cut.
func byVisitors(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Visitors, a.Visitors), cmp.Compare(b.Hits, a.Hits), cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Key, b.Key))
	})
}
