package seglog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The layouts of this file are described with diagrams in
// docs/formats/segment.md. Everything is big endian.

const (
	rixVersion     = 1
	rixCompacted   = 2 // of a segment in which entries were joined to holes
	rixHeaderSize  = 64
	rixTrailerSize = 64
	slotSize       = 24
	compactedSlot  = 32 // slotSize, then the index and the number of entries
	recordHeader   = 32 // of an internal entry in .rix.data

	rixMagic     = "WRIX"
	trailerMagic = "WEND"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Kind says what an entry is. Everything but KindBatch is internal: it takes
// no offset and no space in the .log file. Kinds from KindConfig on are the
// owner's to use; they are stored and handed back.
type Kind uint8

const (
	// KindBatch is exactly one record batch.
	KindBatch Kind = 1
	// KindConfig is a membership of the group. The newest one at or below the
	// anchor is kept when the entries before the anchor are deleted.
	KindConfig Kind = 2
	// KindHole is what is left of batches that were cleaned away: an entry that
	// takes offsets and has no records. Its data is the offset after it (i64).
	KindHole Kind = 255
)

func holeData(end int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(end)) }

// HoleEnd is the offset after a hole, from its data.
func HoleEnd(data []byte) (end int64, ok bool) {
	if len(data) != 8 {
		return 0, false
	}
	end = int64(binary.BigEndian.Uint64(data))
	return end, end >= 0
}

// slot is one entry in the .rix file; its index is that of the segment's first
// entry plus the slot number. In a compacted segment a slot may stand for a run
// of entries of one term that have become a hole, and says its index itself.
type slot struct {
	term  uint32
	kind  Kind
	pos   uint32 // in .log for batches, in .rix.data for others
	size  uint32
	rel   uint32 // base offset (or, for internal entries, next offset) minus the segment's
	count uint32 // offsets taken, 0 for internal entries

	index   uint32 // of its first entry, minus that of the segment's first
	entries uint32 // 1, except for holes in compacted segments
}

func (s slot) batch() bool { return s.kind == KindBatch }

// appendSlot encodes s as slot number n. The checksum covers the number, so that
// a slot in the wrong place is noticed.
func appendSlot(dst []byte, s slot, n int) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, s.term)
	dst = append(dst, byte(s.kind), 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, s.pos)
	dst = binary.BigEndian.AppendUint32(dst, s.size)
	dst = binary.BigEndian.AppendUint32(dst, s.rel)
	dst = binary.BigEndian.AppendUint32(dst, s.count)
	binary.BigEndian.PutUint16(dst[at+6:], slotSum(dst[at:], n))
	return dst
}

func slotSum(b []byte, n int) uint16 {
	var num [4]byte
	binary.BigEndian.PutUint32(num[:], uint32(n))
	sum := crc32.Update(0, castagnoli, num[:])
	sum = crc32.Update(sum, castagnoli, b[:6])
	return uint16(crc32.Update(sum, castagnoli, b[8:slotSize]))
}

// parseSlot decodes slot number n; ok is false for anything that appendSlot
// did not write, zeros included.
func parseSlot(b []byte, n int) (s slot, ok bool) {
	if len(b) < slotSize || b[4] == 0 || b[5] != 0 || binary.BigEndian.Uint16(b[6:]) != slotSum(b, n) {
		return slot{}, false
	}
	return slot{
		term:  binary.BigEndian.Uint32(b),
		kind:  Kind(b[4]),
		pos:   binary.BigEndian.Uint32(b[8:]),
		size:  binary.BigEndian.Uint32(b[12:]),
		rel:   binary.BigEndian.Uint32(b[16:]),
		count: binary.BigEndian.Uint32(b[20:]),
		index: uint32(n), entries: 1,
	}, true
}

// appendCompactedSlot encodes s as slot number n of a compacted segment.
func appendCompactedSlot(dst []byte, s slot, n int) []byte {
	at := len(dst)
	dst = appendSlot(dst, s, n)
	dst = binary.BigEndian.AppendUint32(dst, s.index)
	dst = binary.BigEndian.AppendUint32(dst, s.entries)
	binary.BigEndian.PutUint16(dst[at+6:], compactedSum(dst[at:], n))
	return dst
}

func compactedSum(b []byte, n int) uint16 {
	return uint16(crc32.Update(uint32(slotSum(b, n)), castagnoli, b[slotSize:compactedSlot]))
}

// parseCompactedSlot decodes slot number n of a compacted segment.
func parseCompactedSlot(b []byte, n int) (s slot, ok bool) {
	if len(b) < compactedSlot || b[4] == 0 || b[5] != 0 || binary.BigEndian.Uint16(b[6:]) != compactedSum(b, n) {
		return slot{}, false
	}
	s = slot{
		term:    binary.BigEndian.Uint32(b),
		kind:    Kind(b[4]),
		pos:     binary.BigEndian.Uint32(b[8:]),
		size:    binary.BigEndian.Uint32(b[12:]),
		rel:     binary.BigEndian.Uint32(b[16:]),
		count:   binary.BigEndian.Uint32(b[20:]),
		index:   binary.BigEndian.Uint32(b[24:]),
		entries: binary.BigEndian.Uint32(b[28:]),
	}
	return s, s.entries > 0
}

// rixHead is the start of a .rix file: where the segment begins.
type rixHead struct {
	base       int64
	firstIndex uint64
	prevTerm   uint32 // of the entry before the first, 0 at the very start
	createdMs  int64  // when this replica began the segment, 0 when unknown
	compacted  bool   // entries were joined to holes; such a segment is always sealed
}

func (h rixHead) slotSize() int64 {
	if h.compacted {
		return compactedSlot
	}
	return slotSize
}

// joins says whether two heads mark the same place in the log.
func (h rixHead) joins(o rixHead) bool {
	h.createdMs, o.createdMs = 0, 0
	h.compacted, o.compacted = false, false
	return h == o
}

func (h rixHead) encode() []byte {
	b := make([]byte, rixHeaderSize)
	copy(b, rixMagic)
	binary.BigEndian.PutUint16(b[4:], rixVersion)
	if h.compacted {
		binary.BigEndian.PutUint16(b[4:], rixCompacted)
	}
	binary.BigEndian.PutUint64(b[8:], uint64(h.base))
	binary.BigEndian.PutUint64(b[16:], h.firstIndex)
	binary.BigEndian.PutUint32(b[24:], h.prevTerm)
	binary.BigEndian.PutUint64(b[32:], uint64(h.createdMs))
	binary.BigEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

func parseRixHead(b []byte) (rixHead, error) {
	if len(b) < rixHeaderSize || string(b[:4]) != rixMagic {
		return rixHead{}, fmt.Errorf("not an index file")
	}
	if got := checksum(b[:60]); got != binary.BigEndian.Uint32(b[60:]) {
		return rixHead{}, fmt.Errorf("header checksum is wrong")
	}
	version := binary.BigEndian.Uint16(b[4:])
	if version != rixVersion && version != rixCompacted {
		return rixHead{}, fmt.Errorf("index file has version %d, this program reads versions %d and %d", version, rixVersion, rixCompacted)
	}
	return rixHead{
		base:       int64(binary.BigEndian.Uint64(b[8:])),
		firstIndex: binary.BigEndian.Uint64(b[16:]),
		prevTerm:   binary.BigEndian.Uint32(b[24:]),
		createdMs:  int64(binary.BigEndian.Uint64(b[32:])),
		compacted:  version == rixCompacted,
	}, nil
}

// summary is what is known of a segment without looking at its entries; as the
// trailer of the .rix file it says that the files were trimmed and synced.
type summary struct {
	slots     int
	joined    int // entries beyond one per slot: what holes stand for
	logSize   int64
	dataSize  int64
	batchTerm uint32 // of all its batches, 0 when it has none
	lastTerm  uint32 // of its last entry
	next      int64  // offset after its last record
	minTimeMs int64  // of its records, by the batch headers
	maxTimeMs int64
	slotsCRC  uint32
}

func (s summary) encode() []byte {
	b := make([]byte, rixTrailerSize)
	copy(b, trailerMagic)
	binary.BigEndian.PutUint16(b[4:], rixVersion)
	binary.BigEndian.PutUint32(b[8:], uint32(s.slots))
	binary.BigEndian.PutUint32(b[12:], uint32(s.logSize))
	binary.BigEndian.PutUint32(b[16:], uint32(s.dataSize))
	binary.BigEndian.PutUint32(b[20:], s.batchTerm)
	binary.BigEndian.PutUint32(b[24:], s.lastTerm)
	binary.BigEndian.PutUint32(b[28:], uint32(s.joined))
	binary.BigEndian.PutUint64(b[32:], uint64(s.next))
	binary.BigEndian.PutUint64(b[40:], uint64(s.minTimeMs))
	binary.BigEndian.PutUint64(b[48:], uint64(s.maxTimeMs))
	binary.BigEndian.PutUint32(b[56:], s.slotsCRC)
	binary.BigEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

func parseSummary(b []byte) (summary, bool) {
	if len(b) < rixTrailerSize || string(b[:4]) != trailerMagic ||
		binary.BigEndian.Uint16(b[4:]) != rixVersion || checksum(b[:60]) != binary.BigEndian.Uint32(b[60:]) {
		return summary{}, false
	}
	return summary{
		slots:     int(binary.BigEndian.Uint32(b[8:])),
		joined:    int(binary.BigEndian.Uint32(b[28:])),
		logSize:   int64(binary.BigEndian.Uint32(b[12:])),
		dataSize:  int64(binary.BigEndian.Uint32(b[16:])),
		batchTerm: binary.BigEndian.Uint32(b[20:]),
		lastTerm:  binary.BigEndian.Uint32(b[24:]),
		next:      int64(binary.BigEndian.Uint64(b[32:])),
		minTimeMs: int64(binary.BigEndian.Uint64(b[40:])),
		maxTimeMs: int64(binary.BigEndian.Uint64(b[48:])),
		slotsCRC:  binary.BigEndian.Uint32(b[56:]),
	}, true
}

// internalRecord is one entry in .rix.data. It carries its own index, term and
// place among the records, so that the order of entries can be rebuilt.
type internalRecord struct {
	index uint64
	term  uint32
	kind  Kind
	next  int64 // offset of the first record after it
	data  []byte
}

func appendInternal(dst []byte, r internalRecord) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(r.data)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, r.index)
	dst = binary.BigEndian.AppendUint32(dst, r.term)
	dst = append(dst, byte(r.kind), 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.next))
	dst = append(dst, r.data...)
	sum := crc32.Update(checksum(dst[at:at+4]), castagnoli, dst[at+8:])
	binary.BigEndian.PutUint32(dst[at+4:], sum)
	return dst
}

// parseInternal reads the record at the start of b; ok is false at the end of
// the records, be it zeros or something torn. data aliases b.
func parseInternal(b []byte) (r internalRecord, size int, ok bool) {
	if len(b) < recordHeader {
		return r, 0, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-recordHeader) {
		return r, 0, false
	}
	size = recordHeader + int(n)
	sum := crc32.Update(checksum(b[:4]), castagnoli, b[8:size])
	if sum != binary.BigEndian.Uint32(b[4:]) {
		return r, 0, false
	}
	r = internalRecord{
		index: binary.BigEndian.Uint64(b[8:]),
		term:  binary.BigEndian.Uint32(b[16:]),
		kind:  Kind(b[20]),
		next:  int64(binary.BigEndian.Uint64(b[24:])),
		data:  b[recordHeader:size:size],
	}
	if r.index == 0 || r.kind == 0 || r.kind == KindBatch {
		return internalRecord{}, 0, false
	}
	return r, size, true
}
