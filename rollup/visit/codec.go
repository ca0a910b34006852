package visit

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDamaged is returned for what is not a saved visitor.
var ErrDamaged = errors.New("not a saved visitor")

const version = 1

// append appends the saved form of a visitor:
//
//	version (1 byte: 1), offset, seen (Unix milliseconds), id under the salt before, number of visits, number of pages,
//	for each visit: first, last, exit (Unix milliseconds), page views, actions, length of the entry, entry, length of the exit, exit
//	for each page: hash of the path, minute, depth
//
// Times and minutes are varints, all other numbers uvarints. The visits are in the order of their last hits.
func (p *person) append(dst []byte) []byte {
	dst = append(dst, version)
	dst = binary.AppendUvarint(dst, uint64(p.offset))
	dst = binary.AppendVarint(dst, p.seenMs)
	dst = binary.AppendUvarint(dst, p.before)
	dst = binary.AppendUvarint(dst, uint64(len(p.visits)))
	dst = binary.AppendUvarint(dst, uint64(len(p.pages)))
	for i := range p.visits {
		v := &p.visits[i]
		for _, n := range [...]int64{v.FirstMs, v.LastMs, v.exitMs} {
			dst = binary.AppendVarint(dst, n)
		}
		dst = binary.AppendUvarint(dst, uint64(v.Pageviews))
		dst = binary.AppendUvarint(dst, uint64(v.Actions))
		dst = append(binary.AppendUvarint(dst, uint64(len(v.Entry))), v.Entry...)
		dst = append(binary.AppendUvarint(dst, uint64(len(v.Exit))), v.Exit...)
	}
	for _, g := range p.pages {
		dst = binary.AppendUvarint(dst, g.hash)
		dst = binary.AppendVarint(dst, g.minute)
		dst = binary.AppendUvarint(dst, uint64(g.depth))
	}
	return dst
}

// parse reads what append wrote, and copies it.
func (p *person) parse(data []byte) error {
	r := reader{left: data}
	if r.byte() != version {
		return fmt.Errorf("%w: unknown version", ErrDamaged)
	}
	p.offset, p.seenMs, p.before = int64(r.uvarint()), r.varint(), r.uvarint()
	visits, pages := r.uvarint(), r.uvarint()
	if p.offset < 0 || visits > maxVisits || pages > maxPages {
		return fmt.Errorf("%w: %d visits and %d pages, at most %d and %d are kept", ErrDamaged, visits, pages, maxVisits, maxPages)
	}
	for range visits {
		v := Visit{Site: p.site, FirstMs: r.varint(), LastMs: r.varint(), exitMs: r.varint(), Pageviews: int64(r.uvarint()), Actions: int64(r.uvarint())}
		v.Entry, v.Exit = append([]byte{}, r.bytes()...), string(r.bytes())
		p.visits = append(p.visits, v)
	}
	for range pages {
		p.pages = append(p.pages, page{r.uvarint(), r.varint(), int64(r.uvarint())})
	}
	if r.failed || len(r.left) > 0 {
		return fmt.Errorf("%w: cut off or too long", ErrDamaged)
	}
	return nil
}

type reader struct {
	left   []byte
	failed bool
}

func (r *reader) byte() byte {
	if len(r.left) == 0 {
		r.failed = true
		return 0
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.left)
	return step(r, v, n)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.left)
	return step(r, v, n)
}

func step[N int64 | uint64](r *reader, v N, n int) N {
	if n <= 0 {
		r.failed = true
		r.left = nil
		return 0
	}
	r.left = r.left[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if r.failed || n > uint64(len(r.left)) {
		r.failed = true
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}
