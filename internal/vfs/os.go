package vfs

import (
	"os"
	"path/filepath"
)

// OS is the real file system. Files and directories are made for the owner
// alone.
type OS struct{}

var _ FS = OS{}

type osFile struct{ *os.File }

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements FS.
func (OS) Open(name string) (File, error) { return openOS(name, os.O_RDWR) }

func openOS(name string, flag int) (File, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(filepath.FromSlash(name)) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(filepath.FromSlash(name)) }

// Rename implements FS.
func (OS) Rename(oldName, newName string) error {
	return os.Rename(filepath.FromSlash(oldName), filepath.FromSlash(newName))
}

// MkdirAll implements FS.
func (OS) MkdirAll(name string) error { return os.MkdirAll(filepath.FromSlash(name), 0o700) }

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// SyncData implements File.
func (f osFile) SyncData() error { return syncData(f.File) }

// Size implements File.
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
