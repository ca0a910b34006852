package refusals

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// How long, in seconds, refusals are kept by minute, by quarter of an hour, and at all. Numbers may still grow for openFor after their minute.
const (
	minute, quarter, hour = 60, 15 * 60, 3600

	byMinuteFor  = 3 * hour
	byQuarterFor = 32 * 24 * hour
	keepFor      = 90 * 24 * hour // as long as the topic
	openFor      = 2 * hour       // ingest tries for an hour to write a number
	aheadFor     = hour           // clocks of nodes differ
)

// maxSlots bounds the memory: 16 bytes each, about a quarter more with the slices.
const maxSlots = 1 << 20

// Count is how many hits were refused for one reason.
type Count struct {
	Reason string
	Count  int64
}

// refusal is what is read of a record of the topic: the part of ingest's Dropped that is counted here.
type refusal struct {
	SiteID uint32    `json:"site_id"` // 0: no site is known
	Reason string    `json:"reason"`
	Minute time.Time `json:"minute"`
	Count  uint64    `json:"count"` // so far
}

// Ledger adds refusals up. The zero value is not usable; see NewLedger. Safe for concurrent use.
type Ledger struct {
	mu     sync.Mutex
	pairs  map[pair][]slot
	open   map[string]number // by key of the record
	newest int64             // Unix time of the latest minute
	swept  int64             // newest at the last sweep
	since  int64             // sums before it are not whole; 0: nothing was read
	slots  int
}

type pair struct {
	site   uint32
	reason string
}

// slot is how many hits were refused in a minute, quarter or hour, by its age.
type slot struct {
	start int64 // Unix
	count uint64
}

type number struct {
	minute int64
	count  uint64
}

// NewLedger returns a ledger that has read nothing.
func NewLedger() *Ledger {
	return &Ledger{pairs: map[pair][]slot{}, open: map[string]number{}}
}

// Add takes one record of the topic. A minute that lies ahead of now is refused: a clock that was wrong once would make everything since
// look old.
func (l *Ledger) Add(key string, value []byte, now time.Time) error {
	var r refusal
	if err := json.Unmarshal(value, &r); err != nil {
		return fmt.Errorf("record of refused hits: %w", err)
	}
	at := r.Minute.Unix()
	if r.Reason == "" || len(r.Reason) > 64 || at <= 0 {
		return fmt.Errorf("record of refused hits: reason %.80q and minute %s are none", r.Reason, r.Minute)
	}
	if at > now.Unix()+aheadFor {
		return fmt.Errorf("record of refused hits: minute %s lies ahead", r.Minute)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	more := r.Count - min(r.Count, l.open[key].count)
	if more == 0 || at < l.newest-keepFor {
		return nil
	}
	l.newest = max(l.newest, at)
	l.open[key] = number{at, r.Count}
	if l.since == 0 {
		l.since = at
	}
	l.put(pair{r.SiteID, r.Reason}, at, more)
	if l.newest >= l.swept+quarter || l.slots > maxSlots {
		l.sweep()
	}
	return nil
}

// step returns the length of the slot that a minute of some age is in.
func (l *Ledger) step(at int64) int64 {
	switch age := l.newest - at; {
	case age < byMinuteFor:
		return minute
	case age < byQuarterFor:
		return quarter
	default:
		return hour
	}
}

func (l *Ledger) put(p pair, at int64, more uint64) {
	start := at - at%l.step(at)
	slots := l.pairs[p]
	i, found := slices.BinarySearchFunc(slots, start, func(s slot, t int64) int { return cmp.Compare(s.start, t) })
	if found {
		slots[i].count += more
		return
	}
	l.pairs[p] = slices.Insert(slots, i, slot{start, more})
	l.slots++
}

// sweep joins what has become old, and gives up what is too old or too much.
func (l *Ledger) sweep() {
	l.swept = l.newest
	for key, n := range l.open {
		if n.minute < l.newest-openFor {
			delete(l.open, key)
		}
	}
	l.join(l.newest - keepFor)
	for l.slots > maxSlots {
		l.since = l.newest - (l.newest-l.since)/2
		l.join(l.since)
	}
}

// join brings every slot to the length of its age, and drops those before from.
func (l *Ledger) join(from int64) {
	l.since = max(l.since, min(from, l.newest))
	l.slots = 0
	for p, slots := range l.pairs {
		kept := slots[:0]
		for _, s := range slots {
			s.start -= s.start % l.step(s.start)
			switch last := len(kept) - 1; {
			case s.start < from:
			case last >= 0 && kept[last].start == s.start:
				kept[last].count += s.count
			default:
				kept = append(kept, s)
			}
		}
		if len(kept) == 0 {
			delete(l.pairs, p)
			continue
		}
		l.pairs[p] = slices.Clip(kept)
		l.slots += len(kept)
	}
}

// Sum returns how many hits of a site were refused from one moment to before another, most frequent reason first, and from when on the
// answer is whole: the zero time when nothing was ever refused. Site 0 is for hits whose site is not known.
func (l *Ledger) Sum(site uint32, from, to time.Time) (counts []Count, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, slots := range l.pairs {
		if p.site != site {
			continue
		}
		sum := uint64(0)
		for _, s := range slots {
			if s.start >= from.Unix() && s.start < to.Unix() {
				sum += s.count
			}
		}
		if sum > 0 {
			counts = append(counts, Count{p.reason, int64(sum)})
		}
	}
	slices.SortFunc(counts, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason)) })
	if l.since != 0 {
		since = time.Unix(l.since, 0).UTC()
	}
	return counts, since
}

// reset forgets everything.
func (l *Ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pairs, l.open = map[pair][]slot{}, map[string]number{}
	l.newest, l.swept, l.since, l.slots = 0, 0, 0, 0
}
