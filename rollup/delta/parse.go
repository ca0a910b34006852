package delta

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Parse reads a record into d, reusing d's memory. Text shares one copy of the record. After an error, which wraps ErrNotDelta, the
// content of d is undefined. What a parsed delta refers to is checked: indexes of visitors lie in Visitors, counts of hits are not negative.
func Parse(data []byte, d *Delta) error {
	*d = Delta{Visitors: d.Visitors[:0], Cells: d.Cells[:0], rows: d.rows[:0], indexes: d.indexes[:0]}
	p := parser{text: string(data), delta: d}
	var version uint64
	err := p.fields(0, len(data), func(num protowire.Number, v uint64, from, to int) error {
		switch num {
		case fVersion:
			version = v
		case fPartition:
			d.Partition = int32(v)
		case fFrom:
			d.From = int64(v)
		case fTo:
			d.To = int64(v)
		case fAt:
			d.At = protowire.DecodeZigZag(v)
		case fIndex:
			d.Index = int(v)
		case fCount:
			d.Count = int(v)
		case fReceivedMs:
			d.ReceivedMs = protowire.DecodeZigZag(v)
		case fSiteID:
			d.SiteID = uint32(v)
		case fMinute:
			d.Minute = protowire.DecodeZigZag(v)
		case fVisitors:
			return p.visitors(data[from:to])
		case fCells:
			return p.cell(from, to)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotDelta, err)
	}
	if version == 0 {
		return fmt.Errorf("%w: no version", ErrNotDelta)
	}
	return d.check()
}

func (d *Delta) check() error {
	switch {
	case d.Partition < 0 || d.From < 0 || d.To < d.From || d.At < -1:
		return fmt.Errorf("%w: range %d to %d of partition %d at %d", ErrNotDelta, d.From, d.To, d.Partition, d.At)
	case d.Index < 0 || d.Index >= d.Count || d.Count > math.MaxInt32:
		return fmt.Errorf("%w: record %d of %d", ErrNotDelta, d.Index, d.Count)
	case d.Minute > math.MaxInt64/60 || d.Minute < math.MinInt64/60:
		return fmt.Errorf("%w: minute %d", ErrNotDelta, d.Minute)
	}
	for _, i := range d.indexes {
		if int(i) >= len(d.Visitors) {
			return fmt.Errorf("%w: visitor %d of %d", ErrNotDelta, i, len(d.Visitors))
		}
	}
	for i := range d.rows {
		if c := &d.rows[i].Counts; min(c.Hits, c.Bots, c.Pageviews, c.Events, c.Clicks) < 0 {
			return fmt.Errorf("%w: a count is negative", ErrNotDelta)
		}
	}
	return nil
}

// parser walks over the text of a record by positions, so that the strings it cuts out share one copy.
type parser struct {
	text  string
	delta *Delta
}

// fields calls f with each field between two positions: the value of a varint, or the bounds of a length-delimited field. Fields of
// other types are skipped.
func (p *parser) fields(at, end int, f func(num protowire.Number, v uint64, from, to int) error) error {
	for at < end {
		tag, n := uvarint(p.text[at:end])
		if n <= 0 {
			return errCut
		}
		at += n
		num, typ := protowire.DecodeTag(tag)
		if num < 1 || tag>>3 > uint64(protowire.MaxValidNumber) {
			return errCut
		}
		switch typ {
		case protowire.VarintType:
			v, n := uvarint(p.text[at:end])
			if n <= 0 {
				return errCut
			}
			at += n
			if err := f(num, v, 0, 0); err != nil {
				return err
			}
		case protowire.BytesType:
			size, n := uvarint(p.text[at:end])
			if n <= 0 || size > uint64(end-at-n) {
				return errCut
			}
			from := at + n
			at = from + int(size)
			if err := f(num, 0, from, at); err != nil {
				return err
			}
		case protowire.Fixed64Type:
			at += 8
		case protowire.Fixed32Type:
			at += 4
		default:
			return errCut
		}
	}
	if at > end {
		return errCut
	}
	return nil
}

var errCut = fmt.Errorf("cut off or not protobuf")

func uvarint(s string) (uint64, int) {
	var v uint64
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		b := s[i]
		if b < 0x80 {
			if i == binary.MaxVarintLen64-1 && b > 1 {
				return 0, -1
			}
			return v | uint64(b)<<(7*i), i + 1
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	return 0, 0
}

func (p *parser) visitors(packed []byte) error {
	if len(packed)%8 != 0 {
		return fmt.Errorf("%d bytes of visitor ids", len(packed))
	}
	for ; len(packed) > 0; packed = packed[8:] {
		p.delta.Visitors = append(p.delta.Visitors, binary.LittleEndian.Uint64(packed))
	}
	return nil
}

func (p *parser) cell(from, to int) error {
	var c Cell
	first := len(p.delta.rows)
	err := p.fields(from, to, func(num protowire.Number, _ uint64, from, to int) error {
		switch num {
		case fReport:
			c.Report = p.text[from:to]
		case fLink:
			c.Link = p.text[from:to]
		case fRows:
			return p.row(from, to)
		}
		return nil
	})
	c.Rows = p.delta.rows[first:len(p.delta.rows):len(p.delta.rows)]
	p.delta.Cells = append(p.delta.Cells, c)
	return err
}

func (p *parser) row(from, to int) error {
	var r Row
	first := len(p.delta.indexes)
	err := p.fields(from, to, func(num protowire.Number, v uint64, from, to int) error {
		switch num {
		case fKey:
			r.Key = p.text[from:to]
		case fHits:
			r.Hits = int64(v)
		case fBots:
			r.Bots = int64(v)
		case fPageviews:
			r.Pageviews = int64(v)
		case fEvents:
			r.Events = int64(v)
		case fClicks:
			r.Clicks = int64(v)
		case fVisits:
			r.Visits = protowire.DecodeZigZag(v)
		case fBounces:
			r.Bounces = protowire.DecodeZigZag(v)
		case fDurationMs:
			r.DurationMs = protowire.DecodeZigZag(v)
		case fEngagedMs:
			r.EngagedMs = protowire.DecodeZigZag(v)
		case fScrollSum:
			r.ScrollSum = protowire.DecodeZigZag(v)
		case fScrollViews:
			r.ScrollViews = protowire.DecodeZigZag(v)
		case fRowVisitors:
			return p.rowVisitors(from, to)
		}
		return nil
	})
	r.Visitors = p.delta.indexes[first:len(p.delta.indexes):len(p.delta.indexes)]
	p.delta.rows = append(p.delta.rows, r)
	return err
}

func (p *parser) rowVisitors(from, to int) error {
	for from < to {
		v, n := uvarint(p.text[from:to])
		if n <= 0 || v > math.MaxUint32 {
			return errCut
		}
		p.delta.indexes = append(p.delta.indexes, uint32(v))
		from += n
	}
	return nil
}
