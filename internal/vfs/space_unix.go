//go:build unix

package vfs

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Space implements FS.
func (OS) Space(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.FromSlash(dir), &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}
