package boltfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// A file of bbolt is pages of one size, in the byte order of the machine. Each has a header of 16 bytes: its number u64, kind u16, count u16,
// and overflow u32, the pages after it that belong to it. The first two are meta pages, of which the newer one counts; every other one is
// reached from there once, as a page of a tree or as a free one.
const (
	pageHeader  = 16
	elementSize = 16
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	noFreelist  = 1<<64 - 1

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketElement = 0x01
	maxDepth      = 64 // of trees and of buckets within buckets; a guess far above what is made
)

var order = binary.NativeEndian

// meta is what is read of a meta page.
type meta struct {
	pageSize  uint32
	root      uint64 // page of the tree of buckets
	freelist  uint64
	highWater uint64 // number of pages
	tx        uint64
}

func parseMeta(page []byte) (m meta, ok bool) {
	b := page[pageHeader:][:metaSize]
	sum := fnv.New64a()
	sum.Write(b[:56])
	if order.Uint32(b) != metaMagic || order.Uint64(b[56:]) != sum.Sum64() {
		return m, false
	}
	m = meta{pageSize: order.Uint32(b[8:]), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]), highWater: order.Uint64(b[40:]), tx: order.Uint64(b[48:])}
	return m, m.pageSize >= 1024 && m.pageSize <= 16<<20
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// checkPages reads the pages of a file through: bbolt itself looks at a page when it needs it, and panics at many that are wrong, or writes
// over one that is in use.
func checkPages(f *os.File) error {
	m, err := readMeta(f)
	if err != nil {
		return err
	}
	p := &pages{f: f, meta: m, seen: make([]bool, m.highWater)}
	if err := p.tree(m.root, 0); err != nil {
		return err
	}
	if m.freelist == noFreelist {
		return nil
	}
	if err := p.free(); err != nil {
		return err
	}
	for id := uint64(2); id < m.highWater; id++ {
		if !p.seen[id] {
			return damaged("page %d is neither in use nor free", id)
		}
	}
	return nil
}

// readMeta returns the newer meta page of a file that is as long as that says. Each fits a sector of a disk, so that no power cut leaves a
// half: without either one the last change may be lost.
func readMeta(f *os.File) (newest meta, err error) {
	info, err := f.Stat()
	if err != nil {
		return meta{}, err
	}
	var page [pageHeader + metaSize]byte
	found := 0
	read := func(at int64) error {
		if _, err := f.ReadAt(page[:], at); err != nil && err != io.EOF {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if m, ok := parseMeta(page[:]); ok {
			if found++; m.tx >= newest.tx {
				newest = m
			}
		}
		return nil
	}
	if err := read(0); err != nil {
		return meta{}, err
	}
	if found == 0 {
		return meta{}, damaged("its first page is not as it was written")
	}
	if err := read(int64(newest.pageSize)); err != nil {
		return meta{}, err
	}
	if found < 2 {
		return meta{}, damaged("its second page is not as it was written")
	}
	if newest.highWater > uint64(info.Size())/uint64(newest.pageSize) {
		return meta{}, damaged("it has %d bytes where %d pages of %d bytes were written", info.Size(), newest.highWater, newest.pageSize)
	}
	return newest, nil
}

// pages is one pass over the pages of a file.
type pages struct {
	f    io.ReaderAt
	meta meta
	seen []bool // by number: in use or free
}

// page reads a page with those that belong to it, and notes them as seen.
func (p *pages) page(id uint64) (kind uint16, count int, b []byte, err error) {
	if id < 2 || id >= p.meta.highWater {
		return 0, 0, nil, damaged("there is no page %d", id)
	}
	size, at := int64(p.meta.pageSize), int64(id)*int64(p.meta.pageSize)
	var head [pageHeader]byte
	if _, err := p.f.ReadAt(head[:], at); err != nil {
		return 0, 0, nil, damaged("read page %d: %w", id, err)
	}
	overflow := uint64(order.Uint32(head[12:]))
	if order.Uint64(head[:]) != id || id+overflow >= p.meta.highWater {
		return 0, 0, nil, damaged("page %d says that it is page %d, with %d more", id, order.Uint64(head[:]), overflow)
	}
	for n := id; n <= id+overflow; n++ {
		if err := p.see(n); err != nil {
			return 0, 0, nil, err
		}
	}
	b = make([]byte, (1+int64(overflow))*size)
	if _, err := p.f.ReadAt(b, at); err != nil {
		return 0, 0, nil, damaged("read page %d: %w", id, err)
	}
	return order.Uint16(head[8:]), int(order.Uint16(head[10:])), b, nil
}

func (p *pages) see(id uint64) error {
	if id < 2 || id >= p.meta.highWater || p.seen[id] {
		return damaged("page %d is named twice, or does not exist", id)
	}
	p.seen[id] = true
	return nil
}

// tree checks the tree below a page, and the buckets in it.
func (p *pages) tree(id uint64, depth int) error {
	kind, count, b, err := p.page(id)
	switch {
	case err != nil:
		return err
	case depth > maxDepth:
		return damaged("page %d is %d deep", id, depth)
	case kind != branchPage && kind != leafPage:
		return damaged("page %d is of kind %#x in a tree", id, kind)
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*elementSize
		if at+elementSize > len(b) {
			return damaged("page %d has %d elements", id, count)
		}
		e := b[at:]
		flags, pos, keySize, valueSize, child := order.Uint32(e), order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[12:]), uint64(0)
		if kind == branchPage {
			flags, pos, keySize, valueSize, child = 0, order.Uint32(e), order.Uint32(e[4:]), 0, order.Uint64(e[8:])
		}
		if end := int64(pos) + int64(keySize) + int64(valueSize); end > int64(len(e)) {
			return damaged("element %d of page %d reaches over its end", i, id)
		}
		key, value := e[pos:][:keySize], e[pos+keySize:][:valueSize]
		if i > 0 && bytes.Compare(key, last) <= 0 {
			return damaged("the keys of page %d are not in order", id)
		}
		last = key
		if kind == leafPage && flags&bucketElement != 0 {
			if len(value) < 16 {
				return damaged("a bucket of page %d has %d bytes", id, len(value))
			}
			child = order.Uint64(value) // 0: the bucket is within the value
		}
		if kind == branchPage || child != 0 {
			if err := p.tree(child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// free reads which pages are free.
func (p *pages) free() error {
	kind, n, b, err := p.page(p.meta.freelist)
	if err != nil {
		return err
	}
	list, count := b[pageHeader:], uint64(n)
	if count == 0xffff { // more than fit the header
		count, list = order.Uint64(list), list[8:]
	}
	if kind != freelistPage || count > uint64(len(list)/8) {
		return damaged("page %d, of kind %#x, names %d free pages", p.meta.freelist, kind, count)
	}
	for ; count > 0; count, list = count-1, list[8:] {
		if err := p.see(order.Uint64(list)); err != nil {
			return err
		}
	}
	return nil
}
