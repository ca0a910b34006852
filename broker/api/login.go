package api

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Mechanisms of SASL that are served. Each is checked against the same salted keys.
const mechanismPlain = "PLAIN"

// login is what one connection's log-in has come to. It is the state of the wire.Session.
type login struct {
	mechanism string // chosen by the handshake and not finished; "" when none is under way
	scram     *scram
	user      string    // who has logged in, "" before that
	expires   time.Time // zero: never
}

// loginOf returns the login of a connection, made when there is none.
func loginOf(req *wire.Request) *login {
	l, _ := req.Client.Session.State.(*login)
	if l == nil {
		l = &login{}
		req.Client.Session.State = l
	}
	return l
}

// mechanisms lists what a client may choose from. A password as such is only taken where nobody can overhear it.
func mechanisms(req *wire.Request) []string {
	list := []string{state.ScramSHA256, state.ScramSHA512}
	host, err := netip.ParseAddr(req.Client.Host)
	if req.Client.Secure || err == nil && host.IsLoopback() {
		list = append(list, mechanismPlain)
	}
	return list
}

// errLogin is what a client is told of any log-in that fails, so that it learns nothing of who exists.
var errLogin = errors.New("log-in failed: wrong user or password")

// step takes one message of a log-in. done means that it succeeded; every error is final.
func (h *Handler) step(ctx context.Context, req *wire.Request, l *login, token []byte) (answer []byte, done bool, err error) {
	var user string
	if l.mechanism == mechanismPlain {
		if user, err = h.plain(ctx, token); err != nil {
			return nil, false, err
		}
	} else {
		text, err := l.scram.step(string(token), func(user string) *state.Credential { return h.credential(user, l.mechanism) })
		switch {
		case err != nil:
			return nil, false, err
		case !l.scram.done:
			return []byte(text), false, nil
		}
		user, answer = l.scram.user, []byte(text)
	}
	if l.user != "" && l.user != user {
		return nil, false, fmt.Errorf("%w: %q logged in where %q was", errLogin, user, l.user)
	}
	l.user, l.mechanism, l.scram = user, "", nil
	if hold := h.cfg.Access.Reauthenticate; hold > 0 {
		l.expires = h.cfg.Now().Add(hold)
	}
	req.Client.Session.Principal, req.Client.Session.Raw = "User:"+user, false
	return answer, true, nil
}

// credential is what proves a user's password to a mechanism. Of a user that does not exist it makes up a salt, always the same, so that
// only the end of the log-in tells that something was wrong.
func (h *Handler) credential(user, mechanism string) *state.Credential {
	if c := h.backend.Access().State().Credentials[user].Of(mechanism); c != nil {
		return c
	}
	return h.logins.madeUp(user, mechanism)
}

// plain checks a message of PLAIN (RFC 4616): who one wants to be, who one is, and the password, with a zero byte between.
func (h *Handler) plain(ctx context.Context, token []byte) (user string, err error) {
	parts := strings.SplitN(string(token), "\x00", 4)
	if len(parts) != 3 || parts[1] == "" || parts[0] != "" && parts[0] != parts[1] {
		return "", fmt.Errorf("%w: no message of PLAIN", errLogin)
	}
	user = parts[1]
	all := h.backend.Access().State().Credentials[user]
	mechanism, keys := state.ScramSHA256, all.SHA256
	if keys == nil {
		mechanism, keys = state.ScramSHA512, all.SHA512
	}
	if keys == nil { // takes as long as for one who exists
		mechanism, keys = state.ScramSHA256, h.logins.madeUp(user, state.ScramSHA256)
	}
	if err := h.logins.hashing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer h.logins.hashing.Release(1)
	stored, _, err := saltedKeys(mechanism, parts[2], keys.Salt, int(keys.Iterations))
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare(stored, keys.StoredKey) != 1 {
		return "", errLogin
	}
	return user, nil
}

// saltedKeys makes what SCRAM keeps of a password (RFC 5802 section 3).
func saltedKeys(mechanism, password string, salt []byte, iterations int) (stored, server []byte, err error) {
	newHash, size := hashOf(mechanism)
	salted, err := pbkdf2.Key(newHash, password, salt, iterations, size)
	if err != nil {
		return nil, nil, fmt.Errorf("salt a password: %w", err)
	}
	stored, server = keysOf(mechanism, salted)
	return stored, server, nil
}

// keysOf makes the keys that are kept of a salted password.
func keysOf(mechanism string, salted []byte) (stored, server []byte) {
	newHash, _ := hashOf(mechanism)
	sign := func(text string) []byte {
		mac := hmac.New(newHash, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	sum := newHash()
	sum.Write(sign("Client Key"))
	return sum.Sum(nil), sign("Server Key")
}

func hashOf(mechanism string) (newHash func() hash.Hash, size int) {
	if mechanism == state.ScramSHA512 {
		return sha512.New, sha512.Size
	}
	return sha256.New, sha256.Size
}

// logins is what the log-ins of all connections share.
type logins struct {
	secret  [32]byte            // makes up salts
	hashing *semaphore.Weighted // passwords being salted, each of which keeps a core busy for milliseconds
	total   *prometheus.CounterVec

	mu     sync.Mutex
	failed map[string]failures // by address
}

// failures are the log-ins that failed from one address.
type failures struct {
	count int
	last  time.Time
}

const (
	firstDelay    = 100 * time.Millisecond // Kafka's connection.failed.authentication.delay.ms
	longestDelay  = 5 * time.Second        // a guess: slow enough for somebody who guesses, short for somebody who mistyped
	forgetAfter   = time.Minute            // an address without a failure for this long begins anew
	maxRemembered = 10_000                 // addresses; about 1 MiB
)

func newLogins(reg prometheus.Registerer) *logins {
	l := &logins{
		hashing: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2))),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_broker_logins_total", Help: "Log-ins of Kafka clients, by mechanism and result."}, []string{"mechanism", "result"}),
		failed: make(map[string]failures),
	}
	rand.Read(l.secret[:])
	for _, mechanism := range []string{state.ScramSHA256, state.ScramSHA512, mechanismPlain} {
		l.total.WithLabelValues(mechanism, "ok")
		l.total.WithLabelValues(mechanism, "failed")
	}
	if reg != nil {
		reg.MustRegister(l.total)
	}
	return l
}

// madeUp is the credential of nobody: no password fits it.
func (l *logins) madeUp(user, mechanism string) *state.Credential {
	mac := hmac.New(sha512.New, l.secret[:])
	mac.Write([]byte(mechanism + "\x00" + user))
	sum := mac.Sum(nil)
	_, size := hashOf(mechanism)
	keys := make([]byte, size)
	rand.Read(keys)
	return &state.Credential{Salt: sum[:16], Iterations: state.MinIterations, StoredKey: keys, ServerKey: keys}
}

// delay counts a log-in that failed and returns how long its answer is held back: twice as long after each from the same address.
func (l *logins) delay(host string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.failed[host]
	if now.Sub(f.last) > forgetAfter {
		f.count = 0
	}
	if _, known := l.failed[host]; !known && len(l.failed) >= maxRemembered {
		l.forget(now)
	}
	delay := min(firstDelay<<min(f.count, 10), longestDelay)
	l.failed[host] = failures{count: f.count + 1, last: now}
	return delay
}

// forget drops addresses without a failure lately, or all when there are none.
func (l *logins) forget(now time.Time) {
	for host, f := range l.failed {
		if now.Sub(f.last) > forgetAfter {
			delete(l.failed, host)
		}
	}
	if len(l.failed) >= maxRemembered {
		clear(l.failed)
	}
}
