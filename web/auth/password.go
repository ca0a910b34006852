package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/weir-analytics/weir/web/reply"
)

// Cost of new hashes: 19 MiB, two passes, one lane (the OWASP minimum for argon2id), about 30 ms on one core.
const (
	argonMemoryKiB = 19 * 1024
	argonPasses    = 2
	argonLanes     = 1
	argonSaltBytes = 16
	argonKeyBytes  = 32
)

// Bounds of the cost that is accepted in a stored hash, so that a hash from elsewhere cannot exhaust the node.
const (
	maxMemoryKiB = 256 * 1024
	maxPasses    = 16
	maxLanes     = 16
)

// Bounds of a password in bytes. The upper one only keeps junk out.
const (
	minPasswordBytes = 8
	maxPasswordBytes = 256
)

// ErrMalformedHash is returned for a stored password hash that is not argon2id in PHC form, or costs too much.
var ErrMalformedHash = errors.New("stored password hash is not usable")

// CheckPassword says what is wrong with a new password. field names it in the error.
func CheckPassword(field, password string) error {
	switch {
	case len(password) < minPasswordBytes:
		return reply.Invalid(field, "the password has %d bytes, want at least %d", len(password), minPasswordBytes)
	case len(password) > maxPasswordBytes:
		return reply.Invalid(field, "the password has %d bytes, want at most %d", len(password), maxPasswordBytes)
	case !utf8.ValidString(password):
		return reply.Invalid(field, "the password is not valid UTF-8")
	}
	return nil
}

// Hasher hashes and checks passwords, at most so many at a time: each takes 19 MiB, and a flood of log-ins must not take them all at once.
// It is safe for use by several goroutines.
type Hasher struct {
	slots   chan struct{} // one per hash being computed
	waiting chan struct{} // one per caller in line; full: refused
}

// NewHasher returns a Hasher that computes parallel hashes at a time and lets waiting callers stand in line.
func NewHasher(parallel, waiting int) *Hasher {
	return &Hasher{slots: make(chan struct{}, parallel), waiting: make(chan struct{}, parallel+waiting)}
}

// Hash returns the PHC string of a password. It fails when too many callers wait already (unavailable) or ctx ends.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	release, err := h.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, argonSaltBytes)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKiB, argonLanes, argonKeyBytes)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKiB, argonPasses, argonLanes,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// Verify reports whether password belongs to a PHC string. An empty hash takes as long as a real one and never matches, so that the time of an
// answer does not tell who has an account.
func (h *Hasher) Verify(ctx context.Context, hash, password string) (bool, error) {
	release, err := h.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	known := hash != ""
	if !known {
		hash = decoyHash
	}
	p, err := parsePHC(hash)
	if err != nil {
		return false, err
	}
	key := argon2.IDKey([]byte(password), p.salt, p.passes, p.memoryKiB, p.lanes, uint32(len(p.key)))
	return subtle.ConstantTimeCompare(key, p.key) == 1 && known, nil
}

func (h *Hasher) acquire(ctx context.Context) (release func(), err error) {
	select {
	case h.waiting <- struct{}{}:
	default:
		return nil, reply.Busy(2*time.Second, "too many log-ins at the same time, try again in a moment")
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots; <-h.waiting }, nil
	case <-ctx.Done():
		<-h.waiting
		return nil, ctx.Err()
	}
}

// decoyHash has the cost of new hashes and belongs to no password that is known.
var decoyHash = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKiB, argonPasses, argonLanes,
	base64.RawStdEncoding.EncodeToString(make([]byte, argonSaltBytes)), base64.RawStdEncoding.EncodeToString(make([]byte, argonKeyBytes)))

type phc struct {
	memoryKiB, passes uint32
	lanes             uint8
	salt, key         []byte
}

// parsePHC reads $argon2id$v=19$m=M,t=T,p=P$salt$key. Any stored string is safe to hand in.
func parsePHC(s string) (phc, error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phc{}, ErrMalformedHash
	}
	var p phc
	var lanes uint32
	n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memoryKiB, &p.passes, &lanes)
	if err != nil || n != 3 {
		return phc{}, ErrMalformedHash
	}
	if lanes < 1 || lanes > maxLanes || p.passes < 1 || p.passes > maxPasses || p.memoryKiB < 8*lanes || p.memoryKiB > maxMemoryKiB {
		return phc{}, fmt.Errorf("%w: cost %q is outside what is allowed", ErrMalformedHash, parts[3])
	}
	p.lanes = uint8(lanes)
	if p.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(p.salt) < 8 || len(p.salt) > 64 {
		return phc{}, ErrMalformedHash
	}
	if p.key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(p.key) < 16 || len(p.key) > 64 {
		return phc{}, ErrMalformedHash
	}
	return p, nil
}
