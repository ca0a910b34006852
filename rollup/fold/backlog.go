package fold

import (
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Deltas of old minutes wait, so that history, where each delta may touch a window of its own, does not hold up what happens now. What
// waits is folded in portions, with the flushes of what does not.
//
// What must hold, so that a cell at folded_to = N is still a function of the deltas before N:
//   - A delta waits only if its window is not in memory, and when one of a window waits, all later ones of the window do.
//   - The deltas of a window are folded together, when they come to their turn. So what is in memory lacks nothing.
//   - The progress record says where the first flush begins of which something waits: after a crash it is read again from there, and the
//     cells that are folded further pass over it, as after a torn flush.

// Bounds of what waits, for each partition.
const (
	oldAfter      = 2 * 60 * 60 // seconds between a minute and the receipt of its hits from which on a delta may wait
	portion       = 128         // windows that are folded with one flush
	portionBytes  = 1 << 20     // of memory that their cells take
	waitingBytes  = 150         // of memory for a delta that waits, beside its text, about
	minuteSeconds = 60
)

// position is a place between two flushes of tally: every delta before foldedTo, and every event before sourceTo, is in the windows.
type position struct {
	foldedTo, sourceTo, receivedMs int64
}

// backlogBytes is the most that waits; beyond, no more deltas are taken until there is room, and what happens now is held up after all. A
// hit in a minute of its own takes about 400 bytes. Live pages look at minutes, so they have more.
func backlogBytes(unit zone.Unit) int {
	if unit == zone.Minute {
		return 4 << 20
	}
	return 2 << 20
}

// backlog holds the deltas that wait.
type backlog struct {
	windows map[windowID]*waiting
	queue   []*waiting   // in the order in which they came
	flushes []*flushPart // oldest first; the first one has something that waits
	bytes   int
}

type windowID struct {
	site  uint32
	index int64
}

// waiting is a window with its deltas.
type waiting struct {
	id     windowID
	deltas []waitingDelta
}

type waitingDelta struct {
	value  []byte
	offset int64
	flush  *flushPart
}

// flushPart is a flush of tally of which something waits.
type flushPart struct {
	before position
	left   int
}

func (b *backlog) empty() bool { return len(b.queue) == 0 }

// add takes a delta in. before is the position at the beginning of its flush.
func (b *backlog) add(id windowID, d *delta.Delta, offset int64, before position) {
	w := b.windows[id]
	if w == nil {
		w = &waiting{id: id}
		if b.windows == nil {
			b.windows = map[windowID]*waiting{}
		}
		b.windows[id] = w
		b.queue = append(b.queue, w)
	}
	if n := len(b.flushes); n == 0 || b.flushes[n-1].before != before {
		b.flushes = append(b.flushes, &flushPart{before: before})
	}
	f := b.flushes[len(b.flushes)-1]
	f.left++
	value := delta.Append(nil, d)
	w.deltas = append(w.deltas, waitingDelta{value, offset, f})
	b.bytes += len(value) + waitingBytes
}

// next takes the window out that waits longest.
func (b *backlog) next() *waiting {
	w := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	delete(b.windows, w.id)
	for _, d := range w.deltas {
		d.flush.left--
		b.bytes -= len(d.value) + waitingBytes
	}
	for len(b.flushes) > 0 && b.flushes[0].left == 0 {
		b.flushes[0] = nil
		b.flushes = b.flushes[1:]
	}
	if b.empty() {
		*b = backlog{}
	}
	return w
}

// old says whether a delta may wait.
func old(d *delta.Delta) bool { return d.Minute*minuteSeconds+oldAfter < d.ReceivedMs/1000 }

// waits puts a delta of a site aside, if it is old and its window not at hand.
func (p *Partition) waits(s *site, d *delta.Delta, offset int64, before position) bool {
	if !old(d) {
		return false
	}
	unix := d.Minute * minuteSeconds
	id := windowID{s.id, s.zone.Index(p.f.Unit, unix)}
	if p.backlog.windows[id] == nil && p.windows.holds(s, id.index) {
		return false
	}
	p.backlog.add(id, d, offset, before)
	return true
}

// lacksNothing returns the position up to which nothing waits.
func (p *Partition) lacksNothing() position {
	if len(p.backlog.flushes) > 0 {
		return p.backlog.flushes[0].before
	}
	return position{p.foldedTo, p.sourceTo, p.receivedMs}
}
