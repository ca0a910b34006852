package tally

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/report"
)

// maxKeyBytes is the longest key of a row or name of a link, in bytes. Ingest bounds addresses to less; what other writers put into
// events is cut.
const maxKeyBytes = 2048

// increments collects what hits add to minutes of sites until they are flushed. Strings point into the hits they came from. All tables
// are reused from flush to flush; nothing is allocated per hit.
type increments struct {
	reports []report.Report

	minutes  []minute
	cells    []cell
	rows     []row
	visitors []visitor
	lasts    []int32 // of each visitor, as many as there are reports
	people   []link  // chains of the visitors of rows
	been     []link  // chains of the rows of visitors

	minuteIndex, cellIndex, rowIndex, visitorIndex, pairIndex *index
	seed                                                      maphash.Seed

	exit  int     // place of the report of last pages, -1 for none
	flush uint64  // number of the flush
	entry hit.Hit // memory that is used again

	last      int32 // minute of the hit before, -1 for none
	sizeBound int   // bytes that the deltas have at most
}

// minute is a minute of a site.
type minute struct {
	site     uint32
	minute   int64
	cells    []int32 // in order of appearance
	whole    []int32 // cell of each report for the whole site, -1 for none yet
	visitors []int32
}

type cell struct {
	minute int32
	report int
	link   string
	rows   []int32 // in order of appearance
}

type row struct {
	cell   int32
	key    string
	counts delta.Counts
	people int32 // head of the chain of its visitors (their places in the minute), -1 for none
	visits bool  // something of visits was added, or taken away
}

// visitor is a visitor id in a minute. Most hits of a visitor are in the rows that the hit before was in, so those are kept at hand.
type visitor struct {
	minute int32
	place  uint32 // in the list of the minute
	id     uint64
	last   int32 // in lasts: the row of each report for the whole site, -1 for none yet
	been   int32 // head of the chain of rows that the visitor was in, -1 for none
	rows   int32 // length of the chain
}

// longChain is the length from which the rows of a visitor are looked up in a table.
const longChain = 24

type link struct {
	value int32
	next  int32
}

func newIncrements() *increments {
	return &increments{
		reports: report.All(), exit: slices.IndexFunc(report.All(), func(r report.Report) bool { return r.Name() == report.Exit }), flush: 1,
		seed: maphash.MakeSeed(), last: -1,
		minuteIndex: newIndex(64), cellIndex: newIndex(512), rowIndex: newIndex(4096), visitorIndex: newIndex(2048), pairIndex: newIndex(64),
	}
}

func (a *increments) empty() bool { return len(a.minutes) == 0 }

func (a *increments) reset() {
	for i := range a.cells {
		a.cells[i].link = "" // let go of the text
	}
	clear(a.rows)
	a.minutes, a.cells, a.rows, a.visitors, a.lasts, a.people, a.been = a.minutes[:0], a.cells[:0], a.rows[:0], a.visitors[:0], a.lasts[:0], a.people[:0], a.been[:0]
	for _, x := range []*index{a.minuteIndex, a.cellIndex, a.rowIndex, a.visitorIndex, a.pairIndex} {
		x.reset()
	}
	a.last, a.sizeBound = -1, 0
	a.flush++
}

// countsOf returns what a hit adds to each row that it is in, and whether it makes its visitor a visitor.
func countsOf(h *hit.Hit) (c delta.Counts, visits bool) {
	c.Hits = 1
	if h.Bot {
		c.Bots = 1
		return c, false
	}
	switch h.Kind {
	case hit.Pageview:
		c.Pageviews = 1
	case hit.Event:
		c.Events = 1
	case hit.Click:
		c.Clicks = 1
	default:
		return c, false
	}
	return c, h.Visitor != 0
}

// add counts a hit.
func (a *increments) add(h *hit.Hit) {
	counts, visits := countsOf(h)
	m := a.minuteOf(h.SiteID, floorDiv(h.TimeMs, 60_000))
	person := int32(-1)
	if visits {
		person = a.visitorOf(m, h.Visitor)
	}
	name := cut(h.Link)
	for i, r := range a.reports {
		key, ok := r.Row(h)
		if !ok {
			continue
		}
		if !a.countAgain(m, i, key, &counts, person) {
			at := a.rowOf(a.wholeCell(m, i), key)
			a.count(at, &counts, person)
			if person >= 0 {
				a.lasts[a.visitors[person].last+int32(i)] = at
			}
		}
		if name != "" && r.PerLink() {
			a.count(a.rowOf(a.linkCell(m, i, name), key), &counts, person)
		}
	}
}

// countAgain counts a hit in the row of a report that the hit before of the same visitor was in, if it is the same row.
func (a *increments) countAgain(m int32, reportAt int, key string, counts *delta.Counts, person int32) bool {
	if person < 0 {
		return false
	}
	at := a.lasts[a.visitors[person].last+int32(reportAt)]
	if at < 0 || a.rows[at].key != key {
		return false
	}
	a.rows[at].add(counts)
	return true
}

func (r *row) add(counts *delta.Counts) {
	r.counts.Hits += counts.Hits
	r.counts.Bots += counts.Bots
	r.counts.Pageviews += counts.Pageviews
	r.counts.Events += counts.Events
	r.counts.Clicks += counts.Clicks
}

func (a *increments) count(at int32, counts *delta.Counts, person int32) {
	a.rows[at].add(counts)
	if person >= 0 {
		a.visit(at, person)
	}
}

func (a *increments) minuteOf(site uint32, at int64) int32 {
	if a.last >= 0 && a.minutes[a.last].site == site && a.minutes[a.last].minute == at {
		return a.last
	}
	hash := mix(uint64(site), uint64(at))
	for p := a.minuteIndex.find(hash); ; {
		pos, ok := p.next()
		if !ok {
			break
		}
		if m := &a.minutes[pos]; m.site == site && m.minute == at {
			a.last = pos
			return pos
		}
	}
	pos := int32(len(a.minutes))
	if len(a.minutes) < cap(a.minutes) {
		a.minutes = a.minutes[:pos+1]
	} else {
		a.minutes = append(a.minutes, minute{})
	}
	m := &a.minutes[pos]
	*m = minute{site: site, minute: at, cells: m.cells[:0], whole: m.whole[:0], visitors: m.visitors[:0]}
	for range a.reports {
		m.whole = append(m.whole, -1)
	}
	a.minuteIndex.put(hash, pos)
	a.sizeBound += delta.HeaderBytes
	a.last = pos
	return pos
}

func (a *increments) wholeCell(m int32, reportAt int) int32 {
	if c := a.minutes[m].whole[reportAt]; c >= 0 {
		return c
	}
	c := a.newCell(m, reportAt, "")
	a.minutes[m].whole[reportAt] = c
	return c
}

func (a *increments) linkCell(m int32, reportAt int, link string) int32 {
	hash := mix(maphash.String(a.seed, link), uint64(m)<<8|uint64(reportAt))
	for p := a.cellIndex.find(hash); ; {
		pos, ok := p.next()
		if !ok {
			break
		}
		if c := &a.cells[pos]; c.minute == m && c.report == reportAt && c.link == link {
			return pos
		}
	}
	pos := a.newCell(m, reportAt, link)
	a.cellIndex.put(hash, pos)
	return pos
}

func (a *increments) newCell(m int32, reportAt int, link string) int32 {
	pos := int32(len(a.cells))
	if len(a.cells) < cap(a.cells) {
		a.cells = a.cells[:pos+1]
	} else {
		a.cells = append(a.cells, cell{})
	}
	a.cells[pos] = cell{minute: m, report: reportAt, link: link, rows: a.cells[pos].rows[:0]}
	a.minutes[m].cells = append(a.minutes[m].cells, pos)
	a.sizeBound += delta.MaxCellBytes(a.reports[reportAt].Name(), link)
	return pos
}

func (a *increments) rowOf(c int32, key string) int32 {
	hash := mix(maphash.String(a.seed, key), uint64(c))
	if pos, ok := a.findRow(hash, c, key); ok {
		return pos
	}
	if clean := cut(key); clean != key {
		return a.rowOf(c, clean)
	}
	pos := int32(len(a.rows))
	a.rows = append(a.rows, row{cell: c, key: key, people: -1})
	a.cells[c].rows = append(a.cells[c].rows, pos)
	a.rowIndex.put(hash, pos)
	a.sizeBound += delta.MaxRowBytes(key)
	return pos
}

func (a *increments) findRow(hash uint64, c int32, key string) (int32, bool) {
	for p := a.rowIndex.find(hash); ; {
		pos, ok := p.next()
		if !ok {
			return 0, false
		}
		if r := &a.rows[pos]; r.cell == c && r.key == key {
			return pos, true
		}
	}
}

func (a *increments) visitorOf(m int32, id uint64) int32 {
	hash := mix(id, uint64(m)+1)
	for p := a.visitorIndex.find(hash); ; {
		pos, ok := p.next()
		if !ok {
			break
		}
		if v := &a.visitors[pos]; v.minute == m && v.id == id {
			return pos
		}
	}
	pos := int32(len(a.visitors))
	a.visitors = append(a.visitors, visitor{minute: m, place: uint32(len(a.minutes[m].visitors)), id: id, last: int32(len(a.lasts)), been: -1})
	for range a.reports {
		a.lasts = append(a.lasts, -1)
	}
	a.minutes[m].visitors = append(a.minutes[m].visitors, pos)
	a.visitorIndex.put(hash, pos)
	a.sizeBound += delta.VisitorBytes
	return pos
}

// visit notes that a visitor is in a row.
func (a *increments) visit(at, person int32) {
	v := &a.visitors[person]
	if a.wasIn(v, at, person) {
		return
	}
	a.been = append(a.been, link{at, v.been})
	v.been = int32(len(a.been) - 1)
	if v.rows++; v.rows == longChain {
		for l := v.been; l >= 0; l = a.been[l].next {
			a.pairIndex.put(pair(a.been[l].value, person), 0)
		}
	} else if v.rows > longChain {
		a.pairIndex.put(pair(at, person), 0)
	}
	r := &a.rows[at]
	a.people = append(a.people, link{int32(v.place), r.people})
	r.people = int32(len(a.people) - 1)
	a.sizeBound += delta.RowVisitorBytes
}

func (a *increments) wasIn(v *visitor, at, person int32) bool {
	if v.rows >= longChain {
		p := a.pairIndex.find(pair(at, person))
		_, ok := p.next()
		return ok
	}
	for l := v.been; l >= 0; l = a.been[l].next {
		if a.been[l].value == at {
			return true
		}
	}
	return false
}

// pair makes a hash of two numbers without loss, so that equal hashes are equal pairs.
func pair(at, person int32) uint64 { return mix(uint64(at)<<32|uint64(person), 1) }

// deltas calls f with the increments of each minute, in order of appearance. The delta is reused from call to call.
func (a *increments) deltas(f func(d *delta.Delta) error) error {
	var d delta.Delta
	var places []uint32
	var rows []delta.Row
	for i := range a.minutes {
		m := &a.minutes[i]
		d = delta.Delta{SiteID: m.site, Minute: m.minute, Visitors: d.Visitors[:0], Cells: d.Cells[:0]}
		places, rows = places[:0], rows[:0]
		for _, v := range m.visitors {
			d.Visitors = append(d.Visitors, a.visitors[v].id)
		}
		for _, c := range m.cells {
			first := len(rows)
			for _, at := range a.cells[c].rows {
				r := &a.rows[at]
				if r.counts == (delta.Counts{}) {
					continue // visits came and went
				}
				from := len(places)
				for l := r.people; l >= 0; l = a.people[l].next {
					places = append(places, uint32(a.people[l].value))
				}
				rows = append(rows, delta.Row{Key: r.key, Counts: r.counts, Visitors: places[from:len(places):len(places)]})
			}
			d.Cells = append(d.Cells, delta.Cell{Report: a.reports[a.cells[c].report].Name(), Link: a.cells[c].link, Rows: rows[first:len(rows):len(rows)]})
		}
		if err := f(&d); err != nil {
			return err
		}
	}
	return nil
}

// cut brings text from hits into the form of keys: valid UTF-8 of bounded length.
func cut(s string) string {
	if len(s) > maxKeyBytes {
		end := maxKeyBytes
		for end > maxKeyBytes-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
