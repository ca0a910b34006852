package fold

import (
	"container/list"
	"strings"

	"github.com/weir-analytics/weir/rollup/ring"
	"github.com/weir-analytics/weir/rollup/zone"
)

// site is what a partition holds of one site.
type site struct {
	id         uint32
	name       string
	generation uint32
	zone       *zone.Zone
	ring       *ring.Ring[*window]
	late       map[int64]*window // behind the ring, until they are published
	windows    int               // held in ring and late
}

// window is a window of a site with the cells that are at hand.
type window struct {
	zone.Window
	site  *site
	whole []*cell          // of the site as a whole, by the number of their report
	links map[cellID]*cell // of its links, and of reports without a number; nil for none
	bytes int
	dirty int // cells that are not published
	late  bool
	used  *list.Element

	published published // when the window came into memory
}

// cell returns a cell that is at hand, nil for none. number is that of its report.
func (w *window) cell(id cellID, number int) *cell {
	switch {
	case id.link != "" || number < 0:
		return w.links[id]
	case number < len(w.whole):
		return w.whole[number]
	default:
		return nil
	}
}

// keep takes a cell in.
func (w *window) keep(c *cell, number int) {
	if c.id.link != "" || number < 0 {
		if w.links == nil {
			w.links = map[cellID]*cell{}
		}
		w.links[c.id] = c
		return
	}
	if number >= len(w.whole) {
		w.whole = append(w.whole, make([]*cell, number+1-len(w.whole))...)
	}
	w.whole[number] = c
}

// reports gives the names of reports numbers, from 0 in order of appearance.
type reports map[string]numbered

type numbered struct {
	name   string
	number int
}

// maxReports is the most reports that get a number; more than there are. The topic of deltas is open to other writers.
const maxReports = 128

// find returns a name that may be kept, which the given one, part of a record, may not, and its number, -1 for none.
func (r reports) find(name string) (string, int) {
	if known, ok := r[name]; ok {
		return known.name, known.number
	}
	name = strings.Clone(name)
	if len(r) >= maxReports {
		return name, -1
	}
	r[name] = numbered{name, len(r)}
	return name, len(r) - 1
}

// published says whether the table has cells of a window.
type published uint8

const (
	unknown published = iota
	nothing
	something
)

// windows holds the windows of a partition and bounds their memory.
type windows struct {
	unit  zone.Unit
	sites map[uint32]*site
	order *list.List // of *window, the one used last in front
	bytes int
	limit int
}

func newWindows(unit zone.Unit, limit int) *windows {
	return &windows{unit: unit, sites: map[uint32]*site{}, order: list.New(), limit: limit}
}

func slots(unit zone.Unit) int {
	switch unit {
	case zone.Minute:
		return ring.MinuteSlots
	case zone.Hour:
		return ring.HourSlots
	default:
		return ring.DaySlots
	}
}

func (ws *windows) newSite(id uint32, name string, generation uint32, z *zone.Zone) *site {
	s := &site{id: id, name: name, generation: generation, zone: z, late: map[int64]*window{}}
	s.ring = ring.New(slots(ws.unit), func(_ int64, slot **window) {
		if w := *slot; w != nil {
			ws.leaveRing(w)
		}
	})
	ws.sites[id] = s
	return s
}

// at returns the window of a site that a moment lies in, empty if it is not at hand.
func (ws *windows) at(s *site, unix int64) *window {
	index := s.zone.Index(ws.unit, unix)
	slot, inRing := s.ring.At(index)
	w := s.late[index] // also one that left the ring before it was published
	if inRing && *slot != nil {
		w = *slot
	}
	if w == nil {
		w = &window{Window: s.zone.Window(ws.unit, unix), site: s, late: !inRing}
		w.used = ws.order.PushFront(w)
		s.windows++
		ws.grow(w, windowBytes)
		if inRing {
			*slot = w
		} else {
			s.late[index] = w
		}
		return w
	}
	ws.order.MoveToFront(w.used)
	return w
}

// leaveRing keeps a window that the ring steps past until it is published.
func (ws *windows) leaveRing(w *window) {
	if w.dirty == 0 {
		ws.forget(w)
		return
	}
	w.late = true
	w.site.late[w.Index] = w
}

func (ws *windows) grow(w *window, bytes int) {
	w.bytes += bytes
	ws.bytes += bytes
}

// shrink drops windows that are published: all those behind the ring, and the ones not used for longest until the limit is kept.
func (ws *windows) shrink(published []*window) {
	for _, w := range published {
		if w.late && w.dirty == 0 && w.used != nil {
			ws.drop(w)
		}
	}
	for e := ws.order.Back(); e != nil && ws.bytes > ws.limit; {
		w := e.Value.(*window)
		e = e.Prev()
		if w.dirty == 0 {
			ws.drop(w)
		}
	}
}

// drop takes a window out of ring or late and forgets it.
func (ws *windows) drop(w *window) {
	if slot, ok := w.site.ring.Peek(w.Index); ok && *slot == w {
		*slot = nil
	}
	ws.forget(w)
	if w.site.windows == 0 && ws.sites[w.site.id] == w.site {
		delete(ws.sites, w.site.id)
	}
}

// forget lets go of a window. Its site stays: the ring may be about to hand out another one.
func (ws *windows) forget(w *window) {
	if w.site.late[w.Index] == w {
		delete(w.site.late, w.Index)
	}
	ws.order.Remove(w.used)
	w.used = nil
	ws.bytes -= w.bytes
	w.site.windows--
}

// forgetSite drops all windows of a site, published or not.
func (ws *windows) forgetSite(s *site) {
	for e := ws.order.Front(); e != nil; {
		w := e.Value.(*window)
		e = e.Next()
		if w.site == s {
			ws.drop(w)
		}
	}
	delete(ws.sites, s.id)
}

// holds says whether a window of a site is at hand.
func (ws *windows) holds(s *site, index int64) bool {
	if s.late[index] != nil {
		return true
	}
	slot, ok := s.ring.Peek(index)
	return ok && *slot != nil
}
