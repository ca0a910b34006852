package seglog

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Shared is what all logs of a node have in common: the bound on open files
// and the bytes of recent entries kept in memory. Safe for concurrent use.
type Shared struct {
	maxOpen       int
	maxCacheBytes int64

	filesMu sync.Mutex
	idle    list.List // of *files without users, least recently used first
	open    int

	buffers sync.Pool // *[]byte, for gathering batches into one write

	cacheMu    sync.Mutex
	queue      []cached // in the order of insertion, for eviction
	head       int
	cacheBytes int64
}

// Limits bounds what all logs of a node use together.
type Limits struct {
	// CacheBytes is for entries kept in memory for replication; default 32 MiB.
	CacheBytes int64
	// OpenSegments is how many sealed segments keep their files open; default
	// 256. Segments in use and the last one of each log come on top.
	OpenSegments int
}

// NewShared returns the common part of the logs of one node.
func NewShared(l Limits) *Shared {
	if l.CacheBytes <= 0 {
		l.CacheBytes = 32 << 20
	}
	if l.OpenSegments <= 0 {
		l.OpenSegments = 256
	}
	return &Shared{maxOpen: l.OpenSegments, maxCacheBytes: l.CacheBytes}
}

// files are the open files of one segment. A segment's files pointer is
// guarded by filesMu of the Shared.
type files struct {
	log, rix, data vfs.File
	users          int
	elem           *list.Element // in Shared.idle when users is 0
	gone           bool          // closed by the last user
}

func openFiles(fsys vfs.FS, path string) (*files, error) {
	f := &files{}
	var err error
	for _, x := range []struct {
		to  *vfs.File
		ext string
	}{{&f.log, extLog}, {&f.rix, extRix}, {&f.data, extData}} {
		if *x.to, err = fsys.Open(path + x.ext); err != nil {
			f.close()
			return nil, fmt.Errorf("open segment: %w", err)
		}
	}
	return f, nil
}

func (f *files) close() error {
	var errs []error
	for _, x := range []vfs.File{f.log, f.rix, f.data} {
		if x != nil {
			errs = append(errs, x.Close())
		}
	}
	return errors.Join(errs...)
}

// acquire opens the segment's files or takes the open ones. The caller calls
// release with the result.
func (p *Shared) acquire(s *segment) (*files, error) {
	p.filesMu.Lock()
	defer p.filesMu.Unlock()
	if s.files == nil {
		if s.removed {
			return nil, fmt.Errorf("%w: its segment was deleted", ErrNotFound)
		}
		f, err := openFiles(s.fs, s.path)
		if err != nil {
			return nil, err
		}
		s.files = f
		p.open++
	}
	f := s.files
	if f.elem != nil {
		p.idle.Remove(f.elem)
		f.elem = nil
	}
	f.users++
	return f, nil
}

// adopt gives files that are open already to a segment, in use once.
func (p *Shared) adopt(s *segment, f *files) {
	p.filesMu.Lock()
	defer p.filesMu.Unlock()
	f.users = 1
	s.files = f
	p.open++
}

// release ends a use. Files nobody uses stay open until there are too many.
func (p *Shared) release(s *segment, f *files) {
	p.filesMu.Lock()
	defer p.filesMu.Unlock()
	if f.users--; f.users > 0 {
		return
	}
	if f.gone {
		_ = f.close() // nothing was written that must be kept
		return
	}
	f.elem = p.idle.PushBack(s)
	for p.idle.Len() > p.maxOpen {
		p.forgetLocked(p.idle.Front().Value.(*segment))
	}
}

// forget closes the files of a segment, or has its last user close them. With
// removed set the segment can't be opened again.
func (p *Shared) forget(s *segment, removed bool) {
	p.filesMu.Lock()
	defer p.filesMu.Unlock()
	s.removed = s.removed || removed
	p.forgetLocked(s)
}

func (p *Shared) forgetLocked(s *segment) {
	f := s.files
	if f == nil {
		return
	}
	s.files = nil
	p.open--
	if f.elem != nil {
		p.idle.Remove(f.elem)
		f.elem = nil
	}
	if f.users > 0 {
		f.gone = true
		return
	}
	_ = f.close()
}

func (p *Shared) buffer() *[]byte {
	if b, ok := p.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *Shared) putBuffer(b *[]byte) { p.buffers.Put(b) }
