package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/weir-analytics/weir/internal/boltfile"
	"github.com/weir-analytics/weir/raftfsm/state"
)

const (
	// SessionTime is how long a session lasts from its last renewal.
	SessionTime = 30 * 24 * time.Hour
	// renewBelow is the time left under which a call renews its session. Far below SessionTime, because a renewal is a write to disk.
	renewBelow = 15 * 24 * time.Hour

	maxSessionsPerUser = 50     // guess: more devices than a person has; the oldest gives way
	maxSessions        = 20_000 // bounds memory to a few MiB
)

var sessionBucket = []byte("sessions")

// sessionKey is the SHA-256 of a session token. The token itself is with the browser only.
type sessionKey [sha256.Size]byte

// session is what is kept about a log-in.
type session struct {
	Email   string    `json:"email"` // lower case
	Proof   []byte    `json:"proof"` // proofOf the user when the session began
	Expires time.Time `json:"expires"`
}

// Sessions are the log-ins of this node, in memory and in a small file, so that a restart leaves people logged in. All methods are safe for
// use by several goroutines. When the file cannot be written a session works until the restart, and the log says so.
type Sessions struct {
	db  *bbolt.DB
	log *slog.Logger

	mu    sync.Mutex
	byKey map[sessionKey]session
}

// OpenSessions opens or makes the file at path and drops what has expired. A damaged file is put aside and everybody logs in again: it is not
// worth a node that does not start.
func OpenSessions(path string, now time.Time, log *slog.Logger) (*Sessions, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the sessions: %w", err)
	}
	s, err := openFile(path, now, log)
	if !errors.Is(err, errDamaged) {
		return s, err
	}
	aside := path + ".damaged"
	log.Warn("the file of the sessions is damaged and was put aside; people have to log in again", "file", aside, "err", err)
	if err := os.Rename(path, aside); err != nil {
		return nil, fmt.Errorf("put the damaged sessions aside: %w", err)
	}
	return openFile(path, now, log)
}

// errDamaged is returned by openFile for a file that is there and no database.
var errDamaged = errors.New("damaged")

func openFile(path string, now time.Time, log *slog.Logger) (*Sessions, error) {
	err := boltfile.Check(path)
	var db *bbolt.DB
	if err == nil {
		err = boltfile.Guard(func() (err error) {
			db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second})
			return err
		})
	}
	switch {
	case errors.Is(err, boltfile.ErrDamaged), errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrChecksum), errors.Is(err, bbolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("open sessions %s: %w: %w", path, errDamaged, err)
	case err != nil:
		return nil, fmt.Errorf("open sessions %s: %w", path, err)
	}
	s := &Sessions{db: db, log: log, byKey: map[sessionKey]session{}}
	err = boltfile.Guard(func() error { return s.load(now) })
	if errors.Is(err, boltfile.ErrDamaged) {
		return nil, fmt.Errorf("read sessions %s: %w: %w", path, errDamaged, err) // closing it might wait for ever
	}
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("read sessions %s: %w", path, err)
	}
	return s, nil
}

// Close closes the file. Sessions must not be used afterwards.
func (s *Sessions) Close() error { return s.db.Close() }

func (s *Sessions) load(now time.Time) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(sessionBucket)
		if err != nil {
			return err
		}
		var dead [][]byte
		err = bucket.ForEach(func(k, v []byte) error {
			var one session
			if len(k) != sha256.Size || json.Unmarshal(v, &one) != nil || !one.Expires.After(now) {
				dead = append(dead, slices.Clone(k))
				return nil
			}
			s.byKey[sessionKey(k)] = one
			return nil
		})
		for _, k := range dead {
			err = firstError(err, bucket.Delete(k))
		}
		return err
	})
}

// Start begins a session and returns its token, which only the browser gets.
func (s *Sessions) Start(user state.User, now time.Time) (token string) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	token = base64.RawURLEncoding.EncodeToString(raw)
	one := session{Email: state.UserKey(user.Email), Proof: proofOf(user), Expires: now.Add(SessionTime)}

	s.mu.Lock()
	gone := s.makeRoom(one.Email, now)
	s.byKey[keyOf(token)] = one
	s.mu.Unlock()

	s.persist(map[sessionKey]session{keyOf(token): one}, gone)
	return token
}

// makeRoom takes out what has expired and, at a bound, the sessions that end first. The lock is held.
func (s *Sessions) makeRoom(email string, now time.Time) (gone []sessionKey) {
	var own []sessionKey
	for key, one := range s.byKey {
		if !one.Expires.After(now) {
			gone = append(gone, key)
		} else if one.Email == email {
			own = append(own, key)
		}
	}
	sooner := func(a, b sessionKey) int { return s.byKey[a].Expires.Compare(s.byKey[b].Expires) }
	if len(own) >= maxSessionsPerUser {
		gone = append(gone, slices.MinFunc(own, sooner))
	}
	for _, key := range gone {
		delete(s.byKey, key)
	}
	if len(s.byKey) >= maxSessions {
		var first sessionKey
		for key := range s.byKey {
			if first == (sessionKey{}) || sooner(key, first) < 0 {
				first = key
			}
		}
		delete(s.byKey, first)
		gone = append(gone, first)
	}
	return gone
}

// find returns the session of a token when it belongs to a user as the user is now.
func (s *Sessions) find(token string, users map[string]state.User, now time.Time) (sessionKey, state.User, bool) {
	key := keyOf(token)
	s.mu.Lock()
	one, ok := s.byKey[key]
	s.mu.Unlock()
	if !ok {
		return key, state.User{}, false
	}
	user, exists := users[one.Email]
	if !one.Expires.After(now) || !exists || !slices.Equal(one.Proof, proofOf(user)) {
		s.end(key)
		return key, state.User{}, false
	}
	return key, user, true
}

// alive reports whether a session that was found before still holds. Streams ask now and then.
func (s *Sessions) alive(key sessionKey, users map[string]state.User, now time.Time) bool {
	s.mu.Lock()
	one, ok := s.byKey[key]
	s.mu.Unlock()
	user, exists := users[one.Email]
	return ok && exists && one.Expires.After(now) && slices.Equal(one.Proof, proofOf(user))
}

// renew gives a session its full time again when much of it is over, and reports whether it did.
func (s *Sessions) renew(key sessionKey, now time.Time) bool {
	s.mu.Lock()
	one, ok := s.byKey[key]
	if !ok || one.Expires.Sub(now) > renewBelow {
		s.mu.Unlock()
		return false
	}
	one.Expires = now.Add(SessionTime)
	s.byKey[key] = one
	s.mu.Unlock()
	s.persist(map[sessionKey]session{key: one}, nil)
	return true
}

func (s *Sessions) end(key sessionKey) {
	s.mu.Lock()
	_, ok := s.byKey[key]
	delete(s.byKey, key)
	s.mu.Unlock()
	if ok {
		s.persist(nil, []sessionKey{key})
	}
}

func (s *Sessions) persist(put map[sessionKey]session, gone []sessionKey) {
	err := s.db.Update(func(tx *bbolt.Tx) (err error) {
		bucket := tx.Bucket(sessionBucket)
		for _, key := range gone {
			err = firstError(err, bucket.Delete(key[:]))
		}
		for key, one := range put {
			value, encodeErr := json.Marshal(one)
			err = firstError(err, encodeErr, bucket.Put(key[:], value))
		}
		return err
	})
	if err != nil {
		s.log.Warn("a change of the sessions was not saved; it holds until the restart of this node", "err", err)
	}
}

func keyOf(token string) sessionKey { return sha256.Sum256([]byte(token)) }

// proofOf ties a session to one life and one password of a user: it differs once the password changed or the user was made anew.
func proofOf(user state.User) []byte {
	sum := sha256.Sum256([]byte(user.CreatedAt.UTC().Format(time.RFC3339Nano) + "\x00" + user.PasswordHash))
	return sum[:16]
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
