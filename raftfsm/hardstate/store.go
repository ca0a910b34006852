package hardstate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/weir-analytics/weir/internal/vfs"
)

var (
	// ErrCorrupt is returned by Open for a file whose damage is not that of an
	// unfinished write. Nothing is changed: voting on forgotten votes would
	// put acknowledged records at risk.
	ErrCorrupt = errors.New("hard state is damaged")
	// ErrFailed is returned by a write that has failed. The value may be on
	// disk or not; it counts as given from then on, as a vote that may have
	// been seen must. The next write makes the file anew and so tries it again.
	ErrFailed = errors.New("hard state was not stored")
)

const (
	maxFileBytes = 1 << 30
	// compactBytes is the size from which on the file is rewritten while open,
	// once most of it is old.
	compactBytes = 1 << 20
)

// Store is the file. See Open.
type Store struct {
	fs   vfs.FS
	name string

	mu     sync.Mutex // guards states, next, torn, closed
	states map[GroupID]State
	next   *flight // what is written next
	torn   bool    // a write has failed: states may not be on disk, and nothing is appended to what it left
	closed bool

	// writing is held while the file is written; whoever holds it takes the
	// records of all who came meanwhile.
	writing sync.Mutex
	f       vfs.File
	size    int64
}

// flight is the records that are written together.
type flight struct {
	records []byte
	err     error // guarded by writing
}

// Open reads the file, or makes an empty one, and compacts it.
func Open(fsys vfs.FS, name string) (*Store, error) {
	s := &Store{fs: fsys, name: name, states: map[GroupID]State{}, next: &flight{}}
	if err := fsys.MkdirAll(path.Dir(name)); err != nil {
		return nil, fmt.Errorf("open hard state: %w", err)
	}
	b, err := vfs.ReadFile(fsys, name, maxFileBytes)
	if err == nil {
		err = s.load(b)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("open hard state %s: %w", name, err)
	}
	if err := s.rewrite(); err != nil {
		return nil, fmt.Errorf("open hard state %s: %w", name, err)
	}
	return s, nil
}

// load reads records up to an unfinished write at the end. A record that is
// not whole with a whole one after it is damage.
func (s *Store) load(b []byte) error {
	if len(b) < headerSize || string(b[:headerSize]) != string(fileHeader()) {
		return fmt.Errorf("%w: not a file of version %d", ErrCorrupt, version)
	}
	for at := headerSize; at < len(b); {
		p, n, ok := parseRecord(b[at:])
		if !ok {
			for later := at + 1; later+recordFixed <= len(b); later++ {
				if _, ok := parseCopy(b[later:]); ok {
					return fmt.Errorf("%w: byte %d is not a record, but byte %d is", ErrCorrupt, at, later)
				}
			}
			return nil
		}
		at += n
		if p.gone {
			delete(s.states, p.id)
		} else {
			s.states[p.id] = p.s
		}
	}
	return nil
}

// rewrite replaces the file by one with the current states only.
func (s *Store) rewrite() error {
	s.mu.Lock()
	b := fileHeader()
	for id, st := range s.states {
		b = appendRecord(b, id, st, false)
	}
	s.mu.Unlock()
	if err := vfs.WriteFile(s.fs, path.Dir(s.name), path.Base(s.name), b); err != nil {
		return err
	}
	f, err := s.fs.Open(s.name)
	if err != nil {
		return err
	}
	if s.f != nil {
		_ = s.f.Close() // replaced, nothing in it is needed
	}
	s.f, s.size = f, int64(len(b))
	return nil
}

// Known returns the state of a group and whether there is one.
func (s *Store) Known(id GroupID) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.states[id]
	return st, ok
}

// Forget removes a group, durably. Only for groups that will never vote again.
func (s *Store) Forget(id GroupID) error {
	s.mu.Lock()
	if _, ok := s.states[id]; !ok {
		s.mu.Unlock()
		return nil
	}
	delete(s.states, id)
	return s.flush(id, State{}, true)
}

// set makes a new state durable.
func (s *Store) set(id GroupID, st State) error {
	s.mu.Lock()
	if old, ok := s.states[id]; ok && old == st && !s.torn {
		s.mu.Unlock()
		return nil
	}
	s.states[id] = st
	return s.flush(id, st, false)
}

// flush queues a record and returns when it is durable. It is called with mu
// held and gives it up.
func (s *Store) flush(id GroupID, st State, gone bool) error {
	mine := s.next
	mine.records = appendRecord(mine.records, id, st, gone)
	s.mu.Unlock()

	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	taken, closed := s.next != mine, s.closed
	s.mu.Unlock()
	switch {
	case taken:
		return mine.err // whoever wrote before took this record along
	case closed:
		return fmt.Errorf("%w: the file is closed", ErrFailed)
	}
	return s.write()
}

// write makes everything queued durable; writing is held. A write that failed
// has left nobody knows what at the end of the file, so the next one replaces
// the file: the old one stays whole until then.
func (s *Store) write() error {
	s.mu.Lock()
	q := s.next
	s.next = &flight{}
	torn := s.torn
	old := int64(len(s.states))*2*(recordFixed+64) + compactBytes
	s.mu.Unlock()
	err := func() error {
		if torn || s.size > old {
			return s.rewrite() // the states are those of the queue, or newer
		}
		if _, err := s.f.WriteAt(q.records, s.size); err != nil {
			return err
		}
		s.size += int64(len(q.records))
		return s.f.SyncData()
	}()
	s.mu.Lock()
	s.torn = err != nil
	s.mu.Unlock()
	if err != nil {
		q.err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return q.err
}

// Close closes the file; everything in it is durable already.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.f.Close()
}
