package tally

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-analytics/weir/rollup/visit"
)

// When what is known is written to the log, and in pieces of which size. A member that takes a partition over without a copy on its disk
// reads that, and at most stateEvents events and those of stateEvery.
const (
	stateEvents = 250_000
	stateEvery  = 30 * time.Second // at most this often
	stateAtMost = 10 * time.Minute // and this often while anything comes at all
	pieceBytes  = 512 << 10
)

// ErrNotState is returned for what is no piece of a state.
var ErrNotState = errors.New("not a piece of what tally knows")

// Piece is a record of the topic with what tally knows: a part of all that is known of a partition at one position. The parts with equal
// Position and Writer make a whole when all Count are there. What a whole says depends on the events alone, whoever wrote it.
type Piece struct {
	Saved
	Writer       uint64 // chosen at random for each whole
	Index, Count int
}

const stateVersion = 1

// Kinds of entries.
const (
	entrySource  = 1
	entryBlock   = 2
	entryVisitor = 3
)

// AppendPiece appends the value of the record:
//
//	version (1 byte: 1), position (uvarint), latest receipt (varint, Unix milliseconds), writer (8 bytes, little-endian), index, count
//	and entries until the end:
//	  1: length of the source, source, highest sequence
//	  2: hour (varint), number of the block, number of ids, ids (8 bytes each, little-endian)
//	  3: site, visitor (8 bytes, little-endian), length of the data, data in the form of rollup/visit
//
// All other numbers are uvarints.
func AppendPiece(dst []byte, p *Piece) []byte {
	dst = binary.AppendUvarint(append(dst, stateVersion), uint64(p.Position))
	dst = binary.AppendVarint(dst, p.ReceivedMs)
	dst = binary.LittleEndian.AppendUint64(dst, p.Writer)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(p.Index)), uint64(p.Count))
	for _, source := range slices.Sorted(maps.Keys(p.Sources)) {
		dst = append(binary.AppendUvarint(append(dst, entrySource), uint64(len(source))), source...)
		dst = binary.AppendUvarint(dst, p.Sources[source])
	}
	for _, b := range p.Blocks {
		dst = binary.AppendVarint(append(dst, entryBlock), b.Hour)
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(b.N)), uint64(len(b.IDs)))
		for _, id := range b.IDs {
			dst = binary.LittleEndian.AppendUint64(dst, id)
		}
	}
	for _, v := range p.Visits {
		dst = binary.AppendUvarint(append(dst, entryVisitor), uint64(v.Site))
		dst = binary.LittleEndian.AppendUint64(dst, v.Visitor)
		dst = append(binary.AppendUvarint(dst, uint64(len(v.Data))), v.Data...)
	}
	return dst
}

// ParsePiece reads what AppendPiece wrote, and copies it. The error wraps ErrNotState.
func ParsePiece(data []byte) (*Piece, error) {
	r := pieceReader{left: data}
	if r.byte() != stateVersion {
		return nil, fmt.Errorf("%w: unknown version", ErrNotState)
	}
	p := &Piece{Saved: Saved{Sources: map[string]uint64{}}}
	p.Position, p.ReceivedMs, p.Writer, p.Index, p.Count = int64(r.uvarint()), r.varint(), r.fixed(), int(r.uvarint()), int(r.uvarint())
	for !r.failed && len(r.left) > 0 {
		switch r.byte() {
		case entrySource:
			source := string(r.bytes(1))
			p.Sources[source] = r.uvarint()
		case entryBlock:
			b := Block{Hour: r.varint(), N: int(r.uvarint())}
			for ids := r.bytes(8); len(ids) > 0; ids = ids[8:] {
				b.IDs = append(b.IDs, binary.LittleEndian.Uint64(ids))
			}
			p.Blocks = append(p.Blocks, b)
		case entryVisitor:
			v := visit.Saved{Site: uint32(r.uvarint()), Visitor: r.fixed()}
			v.Data = slices.Clone(r.bytes(1))
			p.Visits = append(p.Visits, v)
		default:
			r.failed = true
		}
	}
	if r.failed || p.Position < 0 || p.Index < 0 || p.Index >= p.Count {
		return nil, fmt.Errorf("%w: cut off or damaged", ErrNotState)
	}
	return p, nil
}

// MarshalJSON returns the piece as weir consume prints it: numbers of ids and visitors in place of them.
func (p *Piece) MarshalJSON() ([]byte, error) {
	ids := 0
	for _, b := range p.Blocks {
		ids += len(b.IDs)
	}
	return json.Marshal(struct {
		Position  int64             `json:"position"`
		Received  time.Time         `json:"received"`
		Writer    uint64            `json:"writer,string"`
		Index     int               `json:"index"`
		Count     int               `json:"count"`
		Sources   map[string]uint64 `json:"sources,omitempty"`
		ClientIDs int               `json:"client_ids"`
		Visitors  int               `json:"visitors"`
	}{p.Position, time.UnixMilli(p.ReceivedMs).UTC(), p.Writer, p.Index, p.Count, p.Sources, ids, len(p.Visits)})
}

// pieces cuts all that is known into values of records.
func pieces(saved Saved, writer uint64) [][]byte {
	var parts []Piece
	size := pieceBytes
	part := func(bytes int) *Piece {
		if size += bytes; size >= pieceBytes || len(parts) == 0 {
			parts = append(parts, Piece{Saved: Saved{Position: saved.Position, ReceivedMs: saved.ReceivedMs, Sources: map[string]uint64{}}, Writer: writer})
			size = bytes
		}
		return &parts[len(parts)-1]
	}
	part(0)
	for source, seq := range saved.Sources {
		part(len(source) + 16).Sources[source] = seq
	}
	for _, b := range saved.Blocks {
		for ids := range slices.Chunk(b.IDs, pieceBytes/16) {
			p := part(8*len(ids) + 16)
			p.Blocks = append(p.Blocks, Block{Hour: b.Hour, N: b.N, IDs: ids})
		}
	}
	for _, v := range saved.Visits {
		p := part(len(v.Data) + 24)
		p.Visits = append(p.Visits, v)
	}
	values := make([][]byte, len(parts))
	for i := range parts {
		parts[i].Index, parts[i].Count = i, len(parts)
		values[i] = AppendPiece(nil, &parts[i])
	}
	return values
}

// gathering puts pieces together, and keeps the whole with the highest position that is not too high.
type gathering struct {
	atMost int64 // position
	open   map[uint64][]*Piece
	best   *Saved
}

// add takes the value of a record. Garbage, and pieces of a whole that is not wanted, are passed over.
func (g *gathering) add(value []byte) {
	p, err := ParsePiece(value)
	if err != nil || p.Position > g.atMost || g.best != nil && p.Position <= g.best.Position {
		return
	}
	if g.open == nil {
		g.open = map[uint64][]*Piece{}
	}
	all := append(g.open[p.Writer], p)
	if all[0].Position != p.Position || all[0].Count != p.Count || p.Index != len(all)-1 {
		all = nil // torn
		if p.Index == 0 {
			all = []*Piece{p}
		}
	}
	g.open[p.Writer] = all
	if len(all) < p.Count {
		return
	}
	delete(g.open, p.Writer)
	whole := &Saved{Position: p.Position, ReceivedMs: p.ReceivedMs, Sources: map[string]uint64{}}
	for _, part := range all {
		maps.Copy(whole.Sources, part.Sources)
		for _, b := range part.Blocks {
			if last := len(whole.Blocks) - 1; last >= 0 && whole.Blocks[last].Hour == b.Hour && whole.Blocks[last].N == b.N {
				whole.Blocks[last].IDs = append(whole.Blocks[last].IDs, b.IDs...)
			} else {
				whole.Blocks = append(whole.Blocks, b)
			}
		}
		whole.Visits = append(whole.Visits, part.Visits...)
	}
	g.best = whole
}

type pieceReader struct {
	left   []byte
	failed bool
}

func (r *pieceReader) byte() byte {
	if len(r.left) == 0 {
		r.failed = true
		return 0
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b
}

func (r *pieceReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.left)
	r.skip(n)
	return v
}

func (r *pieceReader) varint() int64 {
	v, n := binary.Varint(r.left)
	r.skip(n)
	return v
}

func (r *pieceReader) fixed() uint64 {
	if len(r.left) < 8 {
		r.skip(0)
		return 0
	}
	v := binary.LittleEndian.Uint64(r.left)
	r.skip(8)
	return v
}

// bytes reads a number of things and the things, of some bytes each.
func (r *pieceReader) bytes(each int) []byte {
	n := r.uvarint()
	if r.failed || n > uint64(len(r.left)/each) {
		r.skip(0)
		return nil
	}
	b := r.left[:int(n)*each]
	r.left = r.left[int(n)*each:]
	return b
}

func (r *pieceReader) skip(n int) {
	if n <= 0 {
		r.failed, r.left = true, nil
		return
	}
	r.left = r.left[n:]
}
