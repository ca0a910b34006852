package seglog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sort"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Aborted is a transaction that was aborted. Readers of committed data leave out
// the producer's records from FirstOffset to the marker.
type Aborted struct {
	ProducerID  int64
	FirstOffset int64 // of its first record, perhaps in an earlier segment
	LastOffset  int64 // of the marker
	// LastStableOffset is the one after the marker: no transaction that was
	// aborted later begins below it.
	LastStableOffset int64
}

// AbortedSum is how much of a segment's index of aborted transactions is
// durable. The owner keeps the sums with its applied state and hands them back
// after a start: they are what says that an index is missing or damaged.
type AbortedSum struct {
	Base  int64  // of the segment
	Count uint32 // of its first entries
	CRC   uint32 // of those
}

// abortedIndex is a segment's index of aborted transactions, in the order of
// their markers. The owner tells of a marker once the group has agreed on it, so
// that no removal of the newest entries can take one back. What is not in the
// file yet follows from the log after the owner's last AbortedSums.
type abortedIndex struct {
	count int
	crc   uint32
	last  int64 // offset of the newest marker in the file
	mem   []Aborted
}

// newest is the offset of the newest marker, -1 when there is none.
func (x *abortedIndex) newest() int64 {
	switch {
	case len(x.mem) > 0:
		return x.mem[len(x.mem)-1].LastOffset
	case x.count > 0:
		return x.last
	}
	return -1
}

const (
	abortedSize    = 34
	abortedVersion = 0
)

// appendAborted encodes an entry as Kafka's .txnindex file has it: version i16 =
// 0, producer id i64, first offset i64, last offset i64, last stable offset i64.
func appendAborted(dst []byte, a Aborted) []byte {
	dst = binary.BigEndian.AppendUint16(dst, abortedVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.ProducerID))
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.FirstOffset))
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.LastOffset))
	return binary.BigEndian.AppendUint64(dst, uint64(a.LastStableOffset))
}

// parseAborted decodes whole entries; ok is false for anything that a log can't
// have written.
func parseAborted(b []byte) (list []Aborted, ok bool) {
	if len(b)%abortedSize != 0 {
		return nil, false
	}
	list = make([]Aborted, 0, len(b)/abortedSize)
	for ; len(b) > 0; b = b[abortedSize:] {
		a := Aborted{
			ProducerID:       int64(binary.BigEndian.Uint64(b[2:])),
			FirstOffset:      int64(binary.BigEndian.Uint64(b[10:])),
			LastOffset:       int64(binary.BigEndian.Uint64(b[18:])),
			LastStableOffset: int64(binary.BigEndian.Uint64(b[26:])),
		}
		if binary.BigEndian.Uint16(b) != abortedVersion || a.FirstOffset < 0 || a.FirstOffset >= a.LastOffset ||
			a.LastStableOffset > a.LastOffset+1 || len(list) > 0 && a.LastOffset <= list[len(list)-1].LastOffset {
			return nil, false
		}
		list = append(list, a)
	}
	return list, true
}

// AddAborted takes transactions into the index, in the order of their markers,
// which are in the log. They are in memory until SyncAborted.
func (l *Log) AddAborted(list []Aborted) {
	if len(list) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range list {
		if i := segmentOf(l.segs, a.LastOffset); i >= 0 {
			l.segs[i].aborted.mem = append(l.segs[i].aborted.mem, a)
		}
	}
}

// SyncAborted makes the transactions durable whose markers are below an offset,
// and returns how much every segment has of them.
func (l *Log) SyncAborted(below int64) ([]AbortedSum, error) {
	l.metaMu.Lock() // no segment comes back or goes meanwhile
	defer l.metaMu.Unlock()
	l.mu.RLock()
	segs, closed := l.segs, l.closed
	l.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	made := false
	var sums []AbortedSum
	for _, s := range segs {
		created, err := l.syncAborted(s, below)
		if err != nil {
			return nil, fmt.Errorf("write index of aborted transactions: %w", err)
		}
		made = made || created
		if s.aborted.count > 0 { // only changed with metaMu held
			sums = append(sums, AbortedSum{s.head.base, uint32(s.aborted.count), s.aborted.crc})
		}
	}
	if made {
		if err := l.cfg.FS.SyncDir(l.cfg.Dir); err != nil {
			return nil, fmt.Errorf("write index of aborted transactions: %w", err)
		}
	}
	return sums, nil
}

func (l *Log) syncAborted(s *segment, below int64) (created bool, err error) {
	l.mu.RLock()
	x := s.aborted
	l.mu.RUnlock()
	n := sort.Search(len(x.mem), func(i int) bool { return x.mem[i].LastOffset >= below })
	if n == 0 {
		return false, nil
	}
	var b []byte
	for _, a := range x.mem[:n] {
		b = appendAborted(b, a)
	}
	open, created := l.cfg.FS.Open, x.count == 0
	if created { // whatever is there belongs to no state that counts
		open = l.cfg.FS.Create
	}
	f, err := open(s.path + extTxn)
	if err != nil {
		return false, err
	}
	if _, err = f.WriteAt(b, int64(x.count)*abortedSize); err == nil {
		err = f.SyncData()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	l.mu.Lock()
	s.aborted = abortedIndex{
		count: x.count + n, crc: crc32.Update(x.crc, castagnoli, b), last: x.mem[n-1].LastOffset,
		mem: append([]Aborted(nil), s.aborted.mem[n:]...),
	}
	l.mu.Unlock()
	return created, nil
}

// LoadAborted takes up the index again after a start, as the owner's sums have
// it; what a file has beyond them is dropped. It returns the reason why the
// index can't be used, in which case the owner makes it anew from the log.
// Nobody reads or appends meanwhile.
func (l *Log) LoadAborted(sums []AbortedSum) (unusable error, err error) {
	for _, sum := range sums {
		i := segmentOf(l.segs, sum.Base)
		if i < 0 { // deleted since
			continue
		}
		s := l.segs[i]
		if s.head.base != sum.Base {
			return corrupt(l.path(sum.Base), 0, "the segment has aborted transactions and is not there"), nil
		}
		file, list, what, err := ReadAborted(l.cfg.FS, l.cfg.Dir, sum)
		if err != nil {
			return nil, err
		}
		if what != "" {
			return fmt.Errorf("%s %s", file, what), nil
		}
		if list[len(list)-1].LastOffset >= s.sum.next {
			return fmt.Errorf("%s has entries that the segment can't have", file), nil
		}
		s.aborted = abortedIndex{count: len(list), crc: sum.CRC, last: list[len(list)-1].LastOffset}
	}
	return nil, nil
}

// ReadAborted reads what counts of the index of a segment, as a sum of the owner
// has it, from its file. what says why it can't be used, empty when it can.
func ReadAborted(fsys vfs.FS, dir string, sum AbortedSum) (file string, list []Aborted, what string, err error) {
	file = dir + "/" + segmentName(sum.Base) + extTxn
	b, err := vfs.ReadFile(fsys, file, maxSegmentBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return file, nil, "", fmt.Errorf("read index of aborted transactions: %w", err)
	}
	size := int(sum.Count) * abortedSize
	if len(b) < size || checksum(b[:size]) != sum.CRC {
		return file, nil, fmt.Sprintf("of %d bytes does not begin with the %d entries that were written", len(b), sum.Count), nil
	}
	list, ok := parseAborted(b[:size])
	if !ok || len(list) == 0 {
		return file, nil, "has entries that can't be", nil
	}
	return file, list, "", nil
}

// ResetAborted replaces the whole index by transactions found in the log.
func (l *Log) ResetAborted(list []Aborted) {
	l.mu.Lock()
	for _, s := range l.segs {
		s.aborted = abortedIndex{}
	}
	l.mu.Unlock()
	l.AddAborted(list)
}

// AbortedIn returns the aborted transactions that have records in [from, to),
// in the order of their markers; all of them when every transaction below to
// has ended. ErrOffsetRange means that from was deleted.
func (l *Log) AbortedIn(from, to int64) ([]Aborted, error) {
	for {
		out, whole, err := l.abortedOnce(from, to)
		if err != nil || whole {
			return out, err
		}
	}
}

// abortedOnce is AbortedIn; whole is false when a segment was replaced
// meanwhile, whose file may be gone.
func (l *Log) abortedOnce(from, to int64) (out []Aborted, whole bool, err error) {
	l.mu.RLock()
	segs, closed := l.segs, l.closed
	l.mu.RUnlock()
	if closed {
		return nil, false, ErrClosed
	}
	var seen []*segment
	for i := max(segmentOf(segs, from), 0); i < len(segs); i++ {
		list, err := l.abortedOf(segs[i], from)
		if err != nil {
			return nil, false, err
		}
		seen = append(seen, segs[i])
		done := false
		for _, a := range list {
			if a.LastOffset >= from && a.FirstOffset < to {
				out = append(out, a)
			}
			done = done || a.LastStableOffset >= to
		}
		if done {
			break
		}
	}
	// What was deleted meanwhile is missing in the list.
	if first := l.Bounds().Anchor.NextOffset; from < first {
		return nil, false, fmt.Errorf("%w: %d, the log begins at %d", ErrOffsetRange, from, first)
	}
	for _, s := range seen {
		if l.gone(s) {
			return nil, false, nil
		}
	}
	return out, true, nil
}

// abortedOf returns the entries of a segment of which some are from an offset on.
func (l *Log) abortedOf(s *segment, from int64) ([]Aborted, error) {
	l.mu.RLock()
	x := s.aborted
	l.mu.RUnlock()
	if x.count == 0 || x.last < from {
		return x.mem, nil
	}
	b, err := vfs.ReadFile(s.fs, s.path+extTxn, maxSegmentBytes)
	switch size := x.count * abortedSize; {
	case err != nil && l.gone(s):
		return nil, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read index of aborted transactions: %w", err)
	case err != nil || len(b) < size || checksum(b[:size]) != x.crc:
		if l.gone(s) {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: %s is not what was written; it is made anew from the log at the next start", ErrCorrupt, s.path+extTxn)
	default:
		list, ok := parseAborted(b[:size])
		if !ok {
			panic("BUG: an index of aborted transactions that its own reader refuses")
		}
		return append(list, x.mem...), nil
	}
}

// gone says whether a segment was deleted or replaced since it was looked up.
func (l *Log) gone(s *segment) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	i := segmentOf(l.segs, s.head.base)
	return i < 0 || l.segs[i] != s
}
