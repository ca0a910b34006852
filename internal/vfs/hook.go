package vfs

// Op names an operation that changes what is on disk.
type Op string

// The operations that a hook sees.
const (
	OpCreate   Op = "create"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpTruncate Op = "truncate"
	OpRemove   Op = "remove"
	OpRename   Op = "rename"
	OpMkdir    Op = "mkdir"
	OpSyncDir  Op = "syncdir"
	OpOpen     Op = "open"
	OpRead     Op = "read"
)

// Hooked wraps an FS and asks Before ahead of every operation; an error from
// it is returned instead of doing the operation. Tests use it to fail each
// operation in turn and to cut a run short at each write.
type Hooked struct {
	FS
	Before func(op Op, name string) error
}

var _ FS = Hooked{}

type hookedFile struct {
	File
	name   string
	before func(op Op, name string) error
}

func (h Hooked) wrap(f File, name string, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return hookedFile{File: f, name: name, before: h.Before}, nil
}

// Create implements FS.
func (h Hooked) Create(name string) (File, error) {
	if err := h.Before(OpCreate, name); err != nil {
		return nil, err
	}
	f, err := h.FS.Create(name)
	return h.wrap(f, name, err)
}

// Open implements FS.
func (h Hooked) Open(name string) (File, error) {
	if err := h.Before(OpOpen, name); err != nil {
		return nil, err
	}
	f, err := h.FS.Open(name)
	return h.wrap(f, name, err)
}

// Remove implements FS.
func (h Hooked) Remove(name string) error {
	if err := h.Before(OpRemove, name); err != nil {
		return err
	}
	return h.FS.Remove(name)
}

// RemoveAll implements FS.
func (h Hooked) RemoveAll(name string) error {
	if err := h.Before(OpRemove, name); err != nil {
		return err
	}
	return h.FS.RemoveAll(name)
}

// Rename implements FS.
func (h Hooked) Rename(oldName, newName string) error {
	if err := h.Before(OpRename, newName); err != nil {
		return err
	}
	return h.FS.Rename(oldName, newName)
}

// MkdirAll implements FS.
func (h Hooked) MkdirAll(name string) error {
	if err := h.Before(OpMkdir, name); err != nil {
		return err
	}
	return h.FS.MkdirAll(name)
}

// SyncDir implements FS.
func (h Hooked) SyncDir(dir string) error {
	if err := h.Before(OpSyncDir, dir); err != nil {
		return err
	}
	return h.FS.SyncDir(dir)
}

func (f hookedFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.before(OpRead, f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f hookedFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.before(OpWrite, f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, off)
}

func (f hookedFile) SyncData() error {
	if err := f.before(OpSync, f.name); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f hookedFile) Truncate(size int64) error {
	if err := f.before(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}
