package vfs

import "io"

// FS is a place for files. Errors of missing and existing files match
// fs.ErrNotExist and fs.ErrExist.
//
// A name that was created, renamed or removed is only durable once SyncDir of
// its directory has returned.
type FS interface {
	// Create makes an empty file, or empties an existing one, for reading and
	// writing.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Remove deletes a file. Files that are open stay readable.
	Remove(name string) error
	// RemoveAll deletes a directory and everything in it; a missing one is no error.
	RemoveAll(name string) error
	// Rename replaces newName by oldName in one step.
	Rename(oldName, newName string) error
	// MkdirAll makes a directory and its parents.
	MkdirAll(name string) error
	// List returns the names in a directory, sorted, without their path.
	List(dir string) ([]string, error)
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// Space returns the bytes that can still be written in dir, and the size of
	// the whole file system.
	Space(dir string) (free, total int64, err error)
}

// File is an open file. Writes are durable once SyncData has returned without
// an error, and not before.
type File interface {
	io.ReaderAt
	io.WriterAt
	// SyncData makes contents and size durable, like fdatasync. After an error
	// nothing is known about what was written since the last good call.
	SyncData() error
	// Truncate changes the size in bytes; growing fills with zeros.
	Truncate(size int64) error
	// Size is the size in bytes.
	Size() (int64, error)
	// Close closes the file without syncing it.
	Close() error
}

// ReadFile reads a whole file of at most max bytes; a longer one is an error
// of io.ErrShortBuffer.
func ReadFile(fs FS, name string, max int64) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > max {
		return nil, io.ErrShortBuffer
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), b); err != nil {
		return nil, err
	}
	return b, nil
}

// WriteFile writes a file such that after a crash either the old contents are
// there or the whole of the new: to name+".tmp", synced, renamed, directory
// synced.
func WriteFile(fs FS, dir, name string, b []byte) error {
	tmp := dir + "/" + name + ".tmp"
	f, err := fs.Create(tmp)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		f.Close()
		return err
	}
	if err := f.SyncData(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fs.Rename(tmp, dir+"/"+name); err != nil {
		return err
	}
	return fs.SyncDir(dir)
}
