package seglog

import "sync"

// tail keeps the newest entries of one log in memory, for replication: the
// leader of a group reads each entry back once per follower, and a follower
// once to apply it. What is in it is a run without gaps that ends at the last
// entry. Eviction is by age over all logs of the node, by bytes.
type tail struct {
	mu      sync.Mutex
	first   uint64 // index of entries[0]
	entries []Entry
}

// cached names an entry for eviction.
type cached struct {
	t     *tail
	index uint64
	bytes int64
}

func entryBytes(e *Entry) int64 { return int64(cap(e.Data)) + 96 }

func (t *tail) get(index uint64) (Entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if index < t.first || index-t.first >= uint64(len(t.entries)) {
		return Entry{}, false
	}
	return t.entries[index-t.first], true
}

// drop forgets all entries up to and including index.
func (t *tail) drop(index uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if index < t.first {
		return
	}
	n := min(index-t.first+1, uint64(len(t.entries)))
	clear(t.entries[:n])
	t.entries = t.entries[n:]
	t.first += n
}

// truncate forgets the entries from index on.
func (t *tail) truncate(index uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if index >= t.first+uint64(len(t.entries)) {
		return
	}
	n := uint64(0)
	if index > t.first {
		n = index - t.first
	}
	clear(t.entries[n:])
	t.entries = t.entries[:n]
}

// add puts entries in and throws the oldest out when the bound is passed. The
// bytes of truncated entries count until their turn comes.
func (p *Shared) add(t *tail, entries []Entry) {
	t.mu.Lock()
	if len(t.entries) == 0 {
		t.entries = nil
		t.first = entries[0].Index
	}
	t.entries = append(t.entries, entries...)
	t.mu.Unlock()

	p.cacheMu.Lock()
	for i := range entries {
		n := entryBytes(&entries[i])
		p.queue = append(p.queue, cached{t, entries[i].Index, n})
		p.cacheBytes += n
	}
	var out []cached
	for p.cacheBytes > p.maxCacheBytes && p.head < len(p.queue) {
		c := p.queue[p.head]
		p.queue[p.head] = cached{}
		p.head++
		p.cacheBytes -= c.bytes
		out = append(out, c)
	}
	if p.head > len(p.queue)/2 {
		n := copy(p.queue, p.queue[p.head:])
		clear(p.queue[n:])
		p.queue, p.head = p.queue[:n], 0
	}
	p.cacheMu.Unlock()
	for _, c := range out {
		c.t.drop(c.index)
	}
}
