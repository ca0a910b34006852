package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// sectorSize is the unit in bytes in which an unsynced write may partly
// survive a crash; disks promise no more.
const sectorSize = 512

// Mem is a disk in memory that knows what of it is durable. The zero value is
// not usable, see NewMem.
type Mem struct {
	mu      sync.Mutex
	names   map[string]*memInode // as the running process sees it
	durable map[string]*memInode // as a crash leaves it
	dirOps  []dirOp              // changes of names since their directory was synced
}

// dirOp is a change of one name; node is nil for a removal.
type dirOp struct {
	name string
	node *memInode
}

type memInode struct {
	dir     bool
	data    []byte
	synced  []byte
	pending []memWrite // in order, since the last sync
}

// memWrite is one change of contents; a nil b is a truncation to off.
type memWrite struct {
	off int64
	b   []byte
}

// NewMem returns an empty disk.
func NewMem() *Mem {
	root := map[string]*memInode{".": {dir: true}, "/": {dir: true}}
	return &Mem{names: root, durable: map[string]*memInode{".": root["."], "/": root["/"]}}
}

// Crash returns the disk as found after a power cut: what was synced, and of
// the rest whatever survives says. survives is asked for every changed name and
// every sector of every unsynced write; nil keeps nothing. Names change in
// order, as a journal keeps them: after the first change that is lost, all later
// ones are.
func (m *Mem) Crash(survives func() bool) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := NewMem()
	for name, n := range m.durable {
		out.names[name] = n
	}
	for _, op := range m.dirOps {
		if survives == nil || !survives() {
			break
		}
		if op.node == nil {
			delete(out.names, op.name)
		} else {
			out.names[op.name] = op.node
		}
	}
	copies := map[*memInode]*memInode{}
	for name, n := range out.names {
		if copies[n] == nil {
			copies[n] = n.crash(survives)
		}
		out.names[name] = copies[n]
		out.durable[name] = copies[n]
	}
	return out
}

func (n *memInode) crash(survives func() bool) *memInode {
	data := slices.Clone(n.synced)
	for _, w := range n.pending {
		if survives == nil {
			break
		}
		if w.b == nil {
			if survives() {
				data = resize(data, w.off)
			}
			continue
		}
		for at := int64(0); at < int64(len(w.b)); {
			end := min(int64(len(w.b)), (w.off+at)/sectorSize*sectorSize+sectorSize-w.off)
			if survives() {
				data = resize(data, max(int64(len(data)), w.off+end))
				copy(data[w.off+at:], w.b[at:end])
			}
			at = end
		}
	}
	return &memInode{dir: n.dir, data: data, synced: slices.Clone(data)}
}

func resize(b []byte, size int64) []byte {
	if int64(len(b)) >= size {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// Corrupt changes the contents of a file behind everybody's back, synced copy
// included.
func (m *Mem) Corrupt(name string, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[path.Clean(name)]
	if n == nil {
		panic("corrupt " + name + ": no such file")
	}
	n.data = change(slices.Clone(n.data))
	n.synced, n.pending = slices.Clone(n.data), nil
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// set changes a name; the change is durable with the next SyncDir.
func (m *Mem) set(name string, n *memInode) {
	if n == nil {
		delete(m.names, name)
	} else {
		m.names[name] = n
	}
	m.dirOps = append(m.dirOps, dirOp{name, n})
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if d := m.names[path.Dir(name)]; d == nil || !d.dir {
		return nil, notExist("create", name)
	}
	n := m.names[name]
	if n == nil {
		n = &memInode{}
		m.set(name, n)
	} else if n.dir {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fmt.Errorf("is a directory")}
	}
	n.truncate(0)
	return &memFile{m: m, n: n}, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[path.Clean(name)]
	if n == nil || n.dir {
		return nil, notExist("open", name)
	}
	return &memFile{m: m, n: n}, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if m.names[name] == nil {
		return notExist("remove", name)
	}
	m.set(name, nil)
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	var gone []string
	for n := range m.names {
		if n == name || strings.HasPrefix(n, name+"/") {
			gone = append(gone, n)
		}
	}
	slices.Sort(gone)
	for _, n := range slices.Backward(gone) {
		m.set(n, nil)
	}
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldName, newName = path.Clean(oldName), path.Clean(newName)
	n := m.names[oldName]
	if n == nil {
		return notExist("rename", oldName)
	}
	m.set(newName, n)
	m.set(oldName, nil)
	return nil
}

// MkdirAll implements FS. Directories are durable at once: losing one is not
// what the tests are about.
func (m *Mem) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name = path.Clean(name); name != "." && name != "/"; name = path.Dir(name) {
		if m.names[name] == nil {
			n := &memInode{dir: true}
			m.names[name], m.durable[name] = n, n
		}
	}
	return nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if d := m.names[dir]; d == nil || !d.dir {
		return nil, notExist("list", dir)
	}
	var names []string
	for name := range m.names {
		if name != dir && path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	var rest []dirOp
	for _, op := range m.dirOps {
		switch {
		case path.Dir(op.name) != dir:
			rest = append(rest, op)
		case op.node == nil:
			delete(m.durable, op.name)
		default:
			m.durable[op.name] = op.node
		}
	}
	m.dirOps = rest
	return nil
}

type memFile struct {
	m *Mem
	n *memInode
}

func (n *memInode) truncate(size int64) {
	if int64(len(n.data)) == size {
		return
	}
	n.data = resize(n.data, size)
	n.data = n.data[:size:size] // growing again must not uncover old bytes
	n.pending = append(n.pending, memWrite{off: size})
}

// ReadAt implements io.ReaderAt.
func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt.
func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.data = resize(f.n.data, max(int64(len(f.n.data)), off+int64(len(b))))
	copy(f.n.data[off:], b)
	if len(b) > 0 {
		f.n.pending = append(f.n.pending, memWrite{off: off, b: slices.Clone(b)})
	}
	return len(b), nil
}

// SyncData implements File.
func (f *memFile) SyncData() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.syncData()
	return nil
}

// syncData replays the pending writes on the synced copy, which costs what was
// written and not the size of the file.
func (n *memInode) syncData() {
	for _, w := range n.pending {
		if w.b == nil {
			n.synced = resize(n.synced, w.off)
			n.synced = n.synced[:w.off:w.off]
			continue
		}
		n.synced = resize(n.synced, max(int64(len(n.synced)), w.off+int64(len(w.b))))
		copy(n.synced[w.off:], w.b)
	}
	n.pending = nil
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.truncate(size)
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.n.data)), nil
}

// Close implements File.
func (f *memFile) Close() error { return nil }

// Space implements FS: memory never fills.
func (m *Mem) Space(string) (free, total int64, err error) { return 1 << 50, 1 << 50, nil }
