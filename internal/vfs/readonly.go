package vfs

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrReadOnly is returned by every method of ReadOnly that would change something.
var ErrReadOnly = errors.New("files are only looked at")

// ReadOnly is the real file system, of which nothing can be changed: files are
// opened for reading, so that it also works where writing is not allowed.
type ReadOnly struct{ OS }

var _ FS = ReadOnly{}

type readOnlyFile struct{ osFile }

// Open implements FS.
func (ReadOnly) Open(name string) (File, error) {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return readOnlyFile{osFile{f}}, nil
}

// Create implements FS.
func (ReadOnly) Create(string) (File, error) { return nil, ErrReadOnly }

// Remove implements FS.
func (ReadOnly) Remove(string) error { return ErrReadOnly }

// RemoveAll implements FS.
func (ReadOnly) RemoveAll(string) error { return ErrReadOnly }

// Rename implements FS.
func (ReadOnly) Rename(string, string) error { return ErrReadOnly }

// MkdirAll implements FS.
func (ReadOnly) MkdirAll(string) error { return ErrReadOnly }

// SyncDir implements FS.
func (ReadOnly) SyncDir(string) error { return ErrReadOnly }

// WriteAt implements File.
func (readOnlyFile) WriteAt([]byte, int64) (int, error) { return 0, ErrReadOnly }

// Truncate implements File.
func (readOnlyFile) Truncate(int64) error { return ErrReadOnly }

// SyncData implements File.
func (readOnlyFile) SyncData() error { return ErrReadOnly }
