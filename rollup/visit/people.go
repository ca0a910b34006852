package visit

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/weir-analytics/weir/ingest/hit"
)

// memory holds the visitors, with a list of them in the order of their last hits.
type memory struct {
	people         []person
	free           []int32
	byKey          map[key]int32 // a visitor around a change of salts is under two keys
	newest, oldest int32         // ends of the list, none for an empty one
	n, bytes       int

	changed []int32      // since TakeChange, each once
	gone    map[key]bool // keys that were saved and are not used any more
}

const none = -1

// key is a visitor of a site.
type key struct {
	site uint32
	id   uint64
}

// person is one visitor.
type person struct {
	key
	before uint64 // id under the salt before, 0 for none
	visits []Visit
	pages  []page
	offset int64 // of the last hit: the order in which visitors are forgotten
	seenMs int64 // time of receipt when it was taken

	newer, older int32
	size         int
	changed      bool
	used         bool
}

// page is how deep a page view of a visitor was scrolled.
type page struct {
	hash   uint64 // of the path
	minute int64  // in which it is counted
	depth  int64  // percent
}

// Sizes for the bound on memory. They are a function of the content, so that who is forgotten depends on the hits alone.
const (
	personSize = 200
	visitSize  = 160
	pageSize   = 24
)

func (p *person) measure() int {
	n := personSize + len(p.visits)*visitSize + len(p.pages)*pageSize
	for i := range p.visits {
		n += len(p.visits[i].Entry) + len(p.visits[i].Exit)
	}
	return n
}

// meet returns the visitor of a hit, with the hit as the last one.
func (m *memory) meet(h *hit.Hit, offset, receivedMs int64) *person {
	own := key{h.SiteID, h.Visitor}
	at, ok := m.byKey[own]
	if next := (key{h.SiteID, h.VisitorNext}); h.VisitorNext != 0 && h.VisitorNext != h.Visitor {
		at = m.rename(own, next)
	} else if !ok {
		at = m.add(own)
	}
	p := &m.people[at]
	p.offset, p.seenMs = offset, receivedMs
	m.unlink(at)
	m.link(at)
	if !p.changed {
		p.changed = true
		m.changed = append(m.changed, at)
	}
	return p
}

// rename returns the visitor that has one id until the salt changes and another one after, under both.
func (m *memory) rename(own, next key) int32 {
	at, known := m.byKey[own]
	later, also := m.byKey[next]
	switch {
	case known && also && at == later:
		return at
	case known && also:
		// Hits under the next id came before any that had both.
		p, q := &m.people[at], &m.people[later]
		p.visits = append(p.visits, q.visits...)
		p.visits = slices.Delete(p.visits, 0, max(0, len(p.visits)-maxVisits))
		p.pages = append(p.pages, q.pages...)
		p.pages = slices.Delete(p.pages, 0, max(0, len(p.pages)-maxPages))
		m.drop(later)
	case also:
		at = later
	case !known:
		at = m.add(next)
	}
	p := &m.people[at]
	if p.key != next {
		m.leave(p.key)
	}
	if p.before != 0 && p.before != own.id {
		delete(m.byKey, key{p.site, p.before})
	}
	p.key, p.before = next, own.id
	m.byKey[own], m.byKey[next] = at, at
	delete(m.gone, next)
	return at
}

// leave notes that nothing is to be saved under a key any more.
func (m *memory) leave(k key) {
	if m.gone == nil {
		m.gone = map[key]bool{}
	}
	m.gone[k] = true
}

func (m *memory) add(k key) int32 {
	var at int32
	if n := len(m.free); n > 0 {
		at, m.free = m.free[n-1], m.free[:n-1]
	} else {
		at = int32(len(m.people))
		m.people = append(m.people, person{})
	}
	p := &m.people[at]
	*p = person{key: k, visits: p.visits[:0], pages: p.pages[:0], used: true, changed: p.changed} // it may still be in the list of changes
	m.byKey[k] = at
	delete(m.gone, k)
	m.link(at)
	m.n++
	return at
}

func (m *memory) link(at int32) {
	p := &m.people[at]
	p.newer, p.older = none, m.newest
	if m.newest != none {
		m.people[m.newest].newer = at
	}
	m.newest = at
	if m.oldest == none {
		m.oldest = at
	}
}

func (m *memory) unlink(at int32) {
	p := &m.people[at]
	if p.newer != none {
		m.people[p.newer].older = p.older
	} else {
		m.newest = p.older
	}
	if p.older != none {
		m.people[p.older].newer = p.newer
	} else {
		m.oldest = p.newer
	}
}

// drop forgets a visitor.
func (m *memory) drop(at int32) {
	p := &m.people[at]
	m.unlink(at)
	m.n--
	m.bytes -= p.size
	m.leave(p.key)
	if m.byKey[p.key] == at {
		delete(m.byKey, p.key)
	}
	if before := (key{p.site, p.before}); p.before != 0 && m.byKey[before] == at {
		delete(m.byKey, before)
	}
	clear(p.visits)
	p.used, p.size = false, 0
	m.free = append(m.free, at)
}

// settle measures a visitor anew, and forgets others when there is too much.
func (m *memory) settle(p *person) {
	size := p.measure()
	m.bytes += size - p.size
	p.size = size
	for m.n > 1 && (m.n > MaxVisitors || m.bytes > MaxBytes) {
		m.drop(m.oldest)
	}
}

// forgetBefore forgets the visitors whose last hits were received before a moment.
func (m *memory) forgetBefore(receivedMs int64) {
	for m.oldest != none && m.people[m.oldest].seenMs < receivedMs {
		m.drop(m.oldest)
	}
}

// latest moves a visit to the end of the list, as the one that a hit came to last.
func (p *person) latest(at int) *Visit {
	last := len(p.visits) - 1
	if at != last {
		v := p.visits[at]
		copy(p.visits[at:], p.visits[at+1:])
		p.visits[last] = v
	}
	return &p.visits[last]
}

// visitAt returns the visit that a moment lies in, or shortly after; nil for none.
func (p *person) visitAt(timeMs int64) *Visit {
	for i := len(p.visits) - 1; i >= 0; i-- {
		if v := &p.visits[i]; v.has(timeMs) && timeMs >= v.FirstMs {
			return p.latest(i)
		}
	}
	return nil
}

// forgetPage ends the page view before of a page, when the hit is another one.
func (p *person) forgetPage(h *hit.Hit) {
	if h.Kind != hit.Pageview || len(p.pages) == 0 {
		return
	}
	hash := hashOf(h.Path)
	p.pages = slices.DeleteFunc(p.pages, func(g page) bool { return g.hash == hash })
}

// scroll notes how deep the page view of an engagement was scrolled. It returns the minute in which the page view's depth is counted, by how
// much it is deeper than was known, and whether none was known.
func (p *person) scroll(h *hit.Hit, minute, depth int64) (in, deeper int64, first bool) {
	if depth == 0 {
		return minute, 0, false
	}
	hash := hashOf(h.Path)
	for i := range p.pages {
		if g := &p.pages[i]; g.hash == hash {
			deeper = max(0, depth-g.depth)
			g.depth += deeper
			return g.minute, deeper, false
		}
	}
	if len(p.pages) == maxPages {
		p.pages = slices.Delete(p.pages, 0, 1)
	}
	p.pages = append(p.pages, page{hash, minute, depth})
	return minute, depth, true
}

func hashOf(path string) uint64 {
	if path == "" {
		path = "/"
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	return h.Sum64()
}

// Saved is what is remembered of one visitor. Data is nil when nothing is any more.
type Saved struct {
	Site    uint32
	Visitor uint64
	Data    []byte
}

// TakeChange returns what changed since the last call, in no order.
func (m *memory) TakeChange() []Saved {
	change := make([]Saved, 0, len(m.changed)+len(m.gone))
	for _, at := range m.changed {
		p := &m.people[at]
		p.changed = false
		if p.used {
			change = append(change, Saved{p.site, p.id, p.append(nil)})
		}
	}
	for k := range m.gone {
		change = append(change, Saved{k.site, k.id, nil})
	}
	m.changed, m.gone = m.changed[:0], nil
	return change
}

// All returns what is remembered, in no order.
func (m *memory) All() []Saved {
	all := make([]Saved, 0, m.n)
	for i := range m.people {
		if p := &m.people[i]; p.used {
			all = append(all, Saved{p.site, p.id, p.append(nil)})
		}
	}
	return all
}

// Changed returns how many visitors changed since TakeChange.
func (m *memory) Changed() int { return len(m.changed) + len(m.gone) }

// Len returns how many visitors are remembered.
func (m *memory) Len() int { return m.n }

// Bytes returns how much memory they take, about.
func (m *memory) Bytes() int { return m.bytes }

// load fills an empty memory.
func (m *memory) load(saved []Saved) error {
	people := make([]person, 0, len(saved))
	for _, one := range saved {
		p := person{key: key{one.Site, one.Visitor}, used: true}
		if err := p.parse(one.Data); err != nil {
			return fmt.Errorf("visitor %x of site %d: %w", one.Visitor, one.Site, err)
		}
		people = append(people, p)
	}
	slices.SortFunc(people, func(a, b person) int { return cmp.Compare(a.offset, b.offset) })
	m.people = people
	for i := range m.people {
		p, at := &m.people[i], int32(i)
		m.byKey[p.key] = at
		if p.before != 0 {
			m.byKey[key{p.site, p.before}] = at
		}
		m.link(at)
		p.size = p.measure()
		m.n, m.bytes = m.n+1, m.bytes+p.size
	}
	return nil
}
