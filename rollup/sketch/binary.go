package sketch

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// The first byte of the binary form. An empty sketch is no bytes at all.
//
//	1  exact     hashes, 8 bytes each, little-endian, strictly ascending
//	2  sparse    precision (1 byte), then for each register that is not zero, in order: gap to the register before (uvarint, from 0),
//	             rank (1 byte)
//	3  nibbles   precision (1 byte), base (1 byte), then half a byte for each register, low half first: rank - base, or 15 for a rank
//	             outside base..base+14; then those ranks, 1 byte each, in order
//
// Of 2 and 3 the shorter is written, 2 when equal. 3 has the base with the fewest ranks outside, the smallest of those.
const (
	formExact   = 1
	formSparse  = 2
	formNibbles = 3
)

const escape = 15

// Append appends the binary form.
func (s *Sketch) Append(dst []byte) []byte {
	if s.regs != nil {
		return s.regs.append(dst, s.kind.precision(), s.counted())
	}
	if s.n == 0 {
		return dst
	}
	dst = slices.Grow(dst, 1+8*s.n)
	dst = append(dst, formExact)
	if s.n == 1 {
		return binary.LittleEndian.AppendUint64(dst, s.only)
	}
	if s.n <= linear {
		var few [linear]uint64
		return appendHashes(dst, s.sorted(few[:0]))
	}
	var many [512]uint64 // the most of any kind
	return appendHashes(dst, s.sorted(many[:0]))
}

func appendHashes(dst []byte, hashes []uint64) []byte {
	for _, h := range hashes {
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return dst
}

func (r registers) append(dst []byte, precision uint8, count *ranks) []byte {
	base, inside := count.bestBase()
	nibbles := 3 + len(r)/2 + len(r) - inside
	dst = slices.Grow(dst, nibbles)
	if 2*(len(r)-int(count[0])) > nibbles {
		return r.appendNibbles(dst, precision, base)
	}
	start := len(dst)
	dst = append(dst, formSparse, precision)
	last := -1
	for at := 0; at < len(r); at += 8 {
		for eight := binary.LittleEndian.Uint64(r[at:]); eight != 0; { // most are zero
			shift := bits.TrailingZeros64(eight) &^ 7
			i := at + shift/8
			dst = binary.AppendUvarint(dst, uint64(i-last-1))
			dst = append(dst, r[i])
			last = i
			eight &^= 0xff << shift
		}
		if len(dst)-start > nibbles {
			return r.appendNibbles(dst[:start], precision, base)
		}
	}
	return dst
}

// bestBase returns the base with the fewest ranks outside, and how many are inside.
func (count *ranks) bestBase() (base uint8, best int) {
	inside := 0
	for _, n := range count[:escape] {
		inside += int(n)
	}
	best = -1
	for b := 0; ; b++ {
		if inside > best {
			base, best = uint8(b), inside
		}
		if b+escape >= len(count) {
			return base, best
		}
		inside += int(count[b+escape]) - int(count[b])
	}
}

func (r registers) appendNibbles(dst []byte, precision, base uint8) []byte {
	var half [len(ranks{})]uint8
	for rank := range half {
		half[rank] = min(uint8(rank)-base, escape) // a rank below the base wraps round to a large number
	}
	dst = append(dst, formNibbles, precision, base)
	from, size := len(dst), len(r)/2
	dst = slices.Grow(dst, size)[:from+size]
	for i := range size {
		dst[from+i] = half[r[2*i]] | half[r[2*i+1]]<<4
	}
	for _, rank := range r {
		if half[rank] == escape {
			dst = append(dst, rank)
		}
	}
	return dst
}

// Parse reads the binary form of a sketch of the given kind. Errors wrap ErrCorrupt.
func Parse(kind Kind, data []byte) (Sketch, error) {
	s := New(kind)
	if err := s.MergeBinary(data); err != nil {
		return Sketch{}, err
	}
	return s, nil
}

// MergeBinary adds the content of a sketch of the same kind from its binary form. On an error, which wraps ErrCorrupt, the sketch is as
// it was.
func (s *Sketch) MergeBinary(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if data[0] == formExact {
		return s.mergeExact(data[1:])
	}
	regs, err := parseRegisters(s.kind.precision(), data)
	if err != nil {
		return err
	}
	if s.regs == nil {
		s.each(func(h uint64) { regs.insert(h, s.kind.precision()) })
		*s = Sketch{kind: s.kind, regs: regs}
		return nil
	}
	s.regs.merge(regs)
	s.ranks = nil
	return nil
}

func (s *Sketch) mergeExact(data []byte) error {
	if err := s.checkExact(data); err != nil {
		return err
	}
	for ; len(data) > 0; data = data[8:] {
		s.Insert(binary.LittleEndian.Uint64(data))
	}
	return nil
}

func (s *Sketch) checkExact(data []byte) error {
	n := len(data) / 8
	if n == 0 || len(data)%8 != 0 || n > s.kind.limit() {
		return fmt.Errorf("%w: %d bytes of hashes, want a multiple of 8 up to %d", ErrCorrupt, len(data), 8*s.kind.limit())
	}
	var last uint64
	for i := range n {
		h := binary.LittleEndian.Uint64(data[8*i:])
		if h <= last {
			return fmt.Errorf("%w: hash %d is not above the one before", ErrCorrupt, i)
		}
		last = h
	}
	return nil
}

func parseRegisters(precision uint8, data []byte) (registers, error) {
	if len(data) < 2 || data[1] != precision {
		return nil, fmt.Errorf("%w: want precision %d", ErrCorrupt, precision)
	}
	switch data[0] {
	case formSparse:
		return parseSparse(precision, data[2:])
	case formNibbles:
		return parseNibbles(precision, data[2:])
	default:
		return nil, fmt.Errorf("%w: form %d is not known", ErrCorrupt, data[0])
	}
}

func parseSparse(precision uint8, data []byte) (registers, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: no registers", ErrCorrupt)
	}
	regs := newRegisters(precision)
	for at := uint64(0); len(data) > 0; at++ {
		gap, n := binary.Uvarint(data)
		if n <= 0 || n >= len(data) || gap >= uint64(len(regs)) || at+gap >= uint64(len(regs)) {
			return nil, fmt.Errorf("%w: register out of range", ErrCorrupt)
		}
		at += gap
		rank := data[n]
		if rank == 0 || rank > maxRank(precision) {
			return nil, fmt.Errorf("%w: rank %d, want 1 to %d", ErrCorrupt, rank, maxRank(precision))
		}
		regs[at] = rank
		data = data[n+1:]
	}
	return regs, nil
}

func parseNibbles(precision uint8, data []byte) (registers, error) {
	m := 1 << precision
	if len(data) < 1+m/2 {
		return nil, fmt.Errorf("%w: %d bytes of registers, want at least %d", ErrCorrupt, len(data), 1+m/2)
	}
	base, halves, outside := data[0], data[1:1+m/2], data[1+m/2:]
	if base > maxRank(precision) {
		return nil, fmt.Errorf("%w: base %d", ErrCorrupt, base)
	}
	regs := newRegisters(precision)
	for i := range regs {
		half := halves[i/2] >> (4 * (i % 2)) & 15
		rank := base + half
		if half == escape {
			if len(outside) == 0 {
				return nil, fmt.Errorf("%w: ranks are missing at the end", ErrCorrupt)
			}
			rank, outside = outside[0], outside[1:]
		}
		if rank > maxRank(precision) {
			return nil, fmt.Errorf("%w: rank %d, want at most %d", ErrCorrupt, rank, maxRank(precision))
		}
		regs[i] = rank
	}
	if len(outside) != 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrCorrupt, len(outside))
	}
	return regs, nil
}

// IsExact says whether a binary form is of a sketch that counts exactly.
func IsExact(data []byte) bool { return len(data) == 0 || data[0] == formExact }
