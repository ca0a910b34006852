package raftfsm

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/weir-analytics/weir/internal/boltfile"
)

// lockWait is how long to wait for the file lock of another process that is just stopping.
const lockWait = 2 * time.Second

// store is raft-boltdb with two additions.
//
// It can rewrite its file (compact): bbolt keeps the bytes of deleted entries in free pages, and the log carries salts, which must be
// gone from the disk once they are erased.
//
// And it does not let raft panic: raft gives up the process when it cannot store a term or a vote, so a disk that is full would take the
// whole node down. The store tries again, loudly, until it succeeds or the node stops; without its term the group does not take part.
type store struct {
	path   string
	log    *slog.Logger
	closed chan struct{} // closed by Close

	mu   sync.RWMutex // held shared while bolt is used, exclusively while it is replaced
	bolt *raftboltdb.BoltStore
}

func openStore(path string, log *slog.Logger) (*store, error) {
	os.Remove(path + ".compact") // of a compaction that was cut off
	s := &store{path: path, log: log, closed: make(chan struct{})}
	if err := boltfile.Check(path); err != nil {
		return nil, s.openError(err)
	}
	return s, s.open()
}

func (s *store) open() error {
	err := boltfile.Guard(func() (err error) {
		s.bolt, err = raftboltdb.New(raftboltdb.Options{Path: s.path, BoltOptions: &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType}})
		return err
	})
	return s.openError(err)
}

// openError says what to do about an error of opening the file.
func (s *store) openError(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w (%s is locked)", ErrLocked, s.path)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch),
		errors.Is(err, bolterrors.ErrIncompatibleValue), errors.Is(err, boltfile.ErrDamaged):
		return fmt.Errorf("open %s: %w: the file is damaged; restore the data directory from a backup. Nothing was changed", s.path, err)
	case err != nil:
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	return nil
}

// compact writes the live entries to a new file that replaces the old one. On an error before the replacement the old file stays in use.
func (s *store) compact() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.bolt.Close(); err != nil {
		return fmt.Errorf("compact %s: close: %w", s.path, err)
	}
	copyErr := copyLive(s.path+".compact", s.path)
	if err := s.open(); err != nil {
		return errors.Join(copyErr, err)
	}
	return copyErr
}

func copyLive(to, from string) (err error) {
	defer func() {
		if err != nil {
			os.Remove(to)
			err = fmt.Errorf("compact %s: %w", from, err)
		}
	}()
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	src, err := bbolt.Open(from, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := bbolt.Open(to, 0o600, &bbolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	const wholeFile = 0 // one transaction: what is copied is small
	if err := errors.Join(bbolt.Compact(dst, src, wholeFile), dst.Sync(), dst.Close()); err != nil {
		return err
	}
	if err := os.Rename(to, from); err != nil {
		return err
	}
	return syncDir(filepath.Dir(from))
}

// Close releases the file. Calls that are being retried never return after it.
func (s *store) Close() error {
	close(s.closed)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bolt.Close()
}

// insist calls f until it succeeds.
func (s *store) insist(what string, f func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := f()
		if err == nil {
			return nil
		}
		s.log.Error("the controller cannot store its "+what+" and stands still; make room or repair the disk", "path", s.path, "err", err)
		select {
		case <-s.closed:
			select {} // raft would panic on an error, and must not go on as if the value were stored
		case <-time.After(wait):
		}
	}
}

func (s *store) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.FirstIndex()
}

func (s *store) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.LastIndex()
}

func (s *store) GetLog(index uint64, log *raft.Log) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.GetLog(index, log)
}

func (s *store) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *store) StoreLogs(logs []*raft.Log) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.StoreLogs(logs)
}

func (s *store) DeleteRange(first, last uint64) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.DeleteRange(first, last)
}

func (s *store) Set(key, val []byte) error {
	return s.insist("vote", func() error {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.bolt.Set(key, val)
	})
}

func (s *store) Get(key []byte) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.Get(key)
}

func (s *store) SetUint64(key []byte, val uint64) error {
	return s.insist("term", func() error {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.bolt.SetUint64(key, val)
	})
}

func (s *store) GetUint64(key []byte) (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bolt.GetUint64(key)
}
