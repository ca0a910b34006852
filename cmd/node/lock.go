package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFile is locked for as long as a process uses the directory. It holds the process's number, for messages only.
const lockFile = "lock"

// minFree is the free space, in bytes, without which a start makes no sense: the logs of the pipeline need some of it at once.
const minFree = 64 << 20

// prepareDir makes the data directory, checks that it can be written to, and locks it. Errors say what to do.
func prepareDir(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, dirError(dir, err)
	}
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFree(dir); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockDir locks a further data directory, which is there and may be full.
func lockDir(dir string) (io.Closer, error) {
	f, err := openLock(dir)
	if err != nil {
		return nil, err // not a nil *os.File in an io.Closer
	}
	return f, nil
}

func openLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, dirError(dir, err)
	}
	if err := lock(f, dir); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func lock(f *os.File, dir string) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder := make([]byte, 32)
		n, _ := f.ReadAt(holder, 0)
		return fmt.Errorf("--data %s: another process uses it%s; stop that one, or choose another directory", dir, processText(string(holder[:n])))
	}
	if err != nil {
		return fmt.Errorf("--data %s: lock it: %w; weir needs a file system with locks", dir, err)
	}
	if err := f.Truncate(0); err != nil {
		return dirError(dir, err)
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		return dirError(dir, err)
	}
	return nil
}

func processText(pid string) string {
	if pid = strings.TrimSpace(pid); pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

func checkFree(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil // some file systems do not tell; writing will
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < minFree {
		return fmt.Errorf("--data %s: the disk is full: %d MiB are free, at least %d MiB are needed; make room or choose another directory", dir, free>>20, minFree>>20)
	}
	return nil
}

// dirError says what is wrong with the data directory.
func dirError(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("--data %s: its file system is read-only: %w; mount it writable or choose another directory", dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("--data %s: this user may not write there: %w; give it to the user with chown, or choose another directory", dir, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("--data %s: the disk is full: %w; make room or choose another directory", dir, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("--data %s: it or a part of its path is a file, want a directory: %w", dir, err)
	}
	return fmt.Errorf("--data %s: %w", dir, err)
}
