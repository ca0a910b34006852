package seglog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/weir-analytics/weir/internal/vfs"
)

// The meta file holds two equal slots of 8 KiB, each with its own checksum. A
// change is written and synced to one slot after the other, so that one of them
// is whole at any time and a damaged one is replaced by its twin.
const (
	metaName     = "meta"
	metaMagic    = "WMET"
	metaVersion  = 1
	metaSlotSize = 8 << 10
	metaFixed    = 96
	metaSumAt    = 92
)

// Anchor is the entry just below the first one kept. Raft still asks for its
// index and term when it compares logs; its data is gone. The zero Anchor is
// the place before the first entry.
type Anchor struct {
	Index      uint64
	Term       uint32
	NextOffset int64
	// Config is the newest entry of KindConfig at or below the anchor.
	Config      []byte
	ConfigIndex uint64
}

type meta struct {
	seq      uint64
	anchor   Anchor
	logStart int64
	cut      cut
	swap     swap
}

// swap is a replacement of segments that has begun: the files that were made for
// the first one take the place of its own, and the segments after it up to the
// last one go. It is written once those files are durable.
type swap struct {
	on          bool
	first, last int64 // base offsets
}

// cut is a removal of the newest entries that has begun: all entries from
// index on go, and with them all segments with a base offset above base. It is
// written before the first file is touched and cleared after the last, so that
// a crash in between is carried on with and not taken for damage. The zero cut
// means none.
type cut struct {
	index uint64
	base  int64 // -1: all segments go
}

func (m meta) encode() ([]byte, error) {
	size := metaFixed + len(m.anchor.Config)
	if size > metaSlotSize {
		return nil, fmt.Errorf("group membership of %d bytes does not fit the meta file", len(m.anchor.Config))
	}
	b := make([]byte, metaSlotSize)
	copy(b, metaMagic)
	binary.BigEndian.PutUint16(b[4:], metaVersion)
	binary.BigEndian.PutUint64(b[8:], m.seq)
	binary.BigEndian.PutUint64(b[16:], m.anchor.Index)
	binary.BigEndian.PutUint32(b[24:], m.anchor.Term)
	binary.BigEndian.PutUint32(b[28:], uint32(len(m.anchor.Config)))
	binary.BigEndian.PutUint64(b[32:], uint64(m.anchor.NextOffset))
	binary.BigEndian.PutUint64(b[40:], uint64(m.logStart))
	binary.BigEndian.PutUint64(b[48:], m.anchor.ConfigIndex)
	binary.BigEndian.PutUint64(b[56:], m.cut.index)
	binary.BigEndian.PutUint64(b[64:], uint64(m.cut.base))
	if m.swap.on {
		binary.BigEndian.PutUint64(b[72:], uint64(m.swap.first+1))
		binary.BigEndian.PutUint64(b[80:], uint64(m.swap.last))
	}
	copy(b[metaFixed:], m.anchor.Config)
	binary.BigEndian.PutUint32(b[metaSumAt:], metaSum(b[:size]))
	return b, nil
}

func metaSum(b []byte) uint32 {
	return crc32.Update(checksum(b[:metaSumAt]), castagnoli, b[metaFixed:])
}

func parseMeta(b []byte) (meta, bool) {
	if len(b) < metaFixed || string(b[:4]) != metaMagic || binary.BigEndian.Uint16(b[4:]) != metaVersion {
		return meta{}, false
	}
	n := binary.BigEndian.Uint32(b[28:])
	if int64(n) > int64(len(b)-metaFixed) {
		return meta{}, false
	}
	end := metaFixed + int(n)
	if metaSum(b[:end]) != binary.BigEndian.Uint32(b[metaSumAt:]) {
		return meta{}, false
	}
	m := meta{
		seq: binary.BigEndian.Uint64(b[8:]),
		anchor: Anchor{
			Index:       binary.BigEndian.Uint64(b[16:]),
			Term:        binary.BigEndian.Uint32(b[24:]),
			NextOffset:  int64(binary.BigEndian.Uint64(b[32:])),
			ConfigIndex: binary.BigEndian.Uint64(b[48:]),
		},
		logStart: int64(binary.BigEndian.Uint64(b[40:])),
		cut: cut{
			index: binary.BigEndian.Uint64(b[56:]),
			base:  int64(binary.BigEndian.Uint64(b[64:])),
		},
	}
	if first := int64(binary.BigEndian.Uint64(b[72:])); first > 0 {
		m.swap = swap{on: true, first: first - 1, last: int64(binary.BigEndian.Uint64(b[80:]))}
	}
	if n > 0 {
		m.anchor.Config = append([]byte(nil), b[metaFixed:end]...)
	}
	return m, true
}

// metaFile is the open meta file and what it says.
type metaFile struct {
	f     vfs.File
	cur   meta
	twins bool // both copies say cur; otherwise a write was cut short or has failed
}

// openMeta reads the meta file. found is false when there is none, which a
// new log and nothing else has.
func openMeta(fsys vfs.FS, dir string) (m *metaFile, found bool, err error) {
	f, err := fsys.Open(dir + "/" + metaName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("open meta: %w", err)
	}
	var best meta
	ok, twins := false, true
	for i := range 2 {
		b := make([]byte, metaSlotSize)
		n, err := f.ReadAt(b, int64(i)*metaSlotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			f.Close()
			return nil, false, fmt.Errorf("read meta: %w", err)
		}
		got, valid := parseMeta(b[:n])
		twins = twins && valid && (i == 0 || got.seq == best.seq)
		if valid && (!ok || got.seq > best.seq) {
			best, ok = got, true
		}
	}
	if !ok {
		f.Close()
		return nil, false, corrupt(dir+"/"+metaName, 0, "neither of its two copies is whole")
	}
	return &metaFile{f: f, cur: best, twins: twins}, true, nil
}

// createMeta makes the meta file of a new log under a temporary name, so that
// there is either a whole one or none.
func createMeta(fsys vfs.FS, dir string, a Anchor, logStart int64) (*metaFile, error) {
	m := meta{seq: 1, anchor: a, logStart: logStart}
	b, err := m.encode()
	if err != nil {
		return nil, err
	}
	if err := vfs.WriteFile(fsys, dir, metaName, append(b, b...)); err != nil {
		return nil, fmt.Errorf("create meta: %w", err)
	}
	f, err := fsys.Open(dir + "/" + metaName)
	if err != nil {
		return nil, fmt.Errorf("open meta: %w", err)
	}
	return &metaFile{f: f, cur: m, twins: true}, nil
}

// write makes anchor, log start and cut durable.
func (m *metaFile) write(a Anchor, logStart int64, c cut) error {
	return m.store(meta{anchor: a, logStart: logStart, cut: c, swap: m.cur.swap})
}

func (m *metaFile) writeSwap(s swap) error {
	next := m.cur
	next.swap = s
	return m.store(next)
}

func (m *metaFile) store(next meta) error {
	next.seq = m.cur.seq + 1
	b, err := next.encode()
	if err != nil {
		return err
	}
	for i := range int64(2) {
		if _, err := m.f.WriteAt(b, i*metaSlotSize); err != nil {
			return fmt.Errorf("write meta: %w", err)
		}
		if err := m.f.SyncData(); err != nil {
			return fmt.Errorf("sync meta: %w", err)
		}
	}
	m.cur = next
	return nil
}

func (m *metaFile) close() error { return m.f.Close() }
