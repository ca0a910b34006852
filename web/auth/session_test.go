package auth

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

var ada = state.User{Email: "Ada@example.com", Role: state.RoleAdmin, PasswordHash: "hash", CreatedAt: now}

func users(list ...state.User) map[string]state.User {
	m := map[string]state.User{}
	for _, u := range list {
		m[state.UserKey(u.Email)] = u
	}
	return m
}

func openSessions(t *testing.T, path string, at time.Time) *Sessions {
	t.Helper()
	s, err := OpenSessions(path, at, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSessionFileHoldsNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web", "sessions.db")
	s := openSessions(t, path, now)
	token := s.Start(ada, now)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(content), token) {
		t.Errorf("the file holds the token (%v)", err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	again := openSessions(t, path, now.Add(time.Hour))
	if _, user, ok := again.find(token, users(ada), now.Add(time.Hour)); !ok || user.Email != ada.Email {
		t.Errorf("after opening again: %v %v", user, ok)
	}
}

func TestEndedSessionsStayEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openSessions(t, path, now)
	ended, expired := s.Start(ada, now), s.Start(ada, now.Add(-SessionTime))
	key, _, _ := s.find(ended, users(ada), now)
	s.end(key)
	_ = s.Close()
	again := openSessions(t, path, now)
	for _, token := range []string{ended, expired, "", "made up"} {
		if _, _, ok := again.find(token, users(ada), now); ok {
			t.Errorf("%q is a session", token)
		}
	}
	if len(again.byKey) != 0 {
		t.Errorf("%d sessions left", len(again.byKey))
	}
}

func TestSessionBelongsToOneLifeOfAUser(t *testing.T) {
	s := openSessions(t, filepath.Join(t.TempDir(), "sessions.db"), now)
	made := ada
	made.CreatedAt = now.Add(time.Hour)
	for name, later := range map[string]map[string]state.User{"deleted": users(), "deleted and added again": users(made)} {
		token := s.Start(ada, now)
		if _, _, ok := s.find(token, later, now); ok {
			t.Errorf("%s: still a session", name)
		}
		if _, _, ok := s.find(token, users(ada), now); ok {
			t.Errorf("%s: the session came back", name)
		}
	}
}

func TestSessionsOfAUserAreBounded(t *testing.T) {
	s := openSessions(t, filepath.Join(t.TempDir(), "sessions.db"), now)
	var tokens []string
	for i := range maxSessionsPerUser + 3 {
		tokens = append(tokens, s.Start(ada, now.Add(time.Duration(i)*time.Second)))
	}
	for i, token := range tokens {
		if _, _, ok := s.find(token, users(ada), now); ok != (i >= 3) {
			t.Errorf("session %d of %d: %v", i, len(tokens), ok)
		}
	}
}

func TestSessionWorksWhenTheFileCannotBeWritten(t *testing.T) {
	var logged strings.Builder
	s, err := OpenSessions(filepath.Join(t.TempDir(), "sessions.db"), now, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close() // from here on every write fails
	token := s.Start(ada, now)
	if _, _, ok := s.find(token, users(ada), now); !ok {
		t.Error("no session")
	}
	if !strings.Contains(logged.String(), "was not saved") || strings.Contains(logged.String(), token) {
		t.Errorf("log: %s", logged.String())
	}
}

func TestDamagedFileIsPutAside(t *testing.T) {
	for name, content := range map[string]string{"text": strings.Repeat("not a database ", 1000), "short": "x", "zeros": strings.Repeat("\x00", 32<<10)} {
		path := filepath.Join(t.TempDir(), "sessions.db")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := openSessions(t, path, now)
		if _, _, ok := s.find(s.Start(ada, now), users(ada), now); !ok {
			t.Errorf("%s: no session", name)
		}
		if kept, err := os.ReadFile(path + ".damaged"); string(kept) != content {
			t.Errorf("%s: the damaged file is gone: %v", name, err)
		}
	}
}

func TestThrottleIsBoundedAndForgets(t *testing.T) {
	th := NewThrottle()
	for i := range throttleMax * 2 {
		th.Failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	if n := len(th.byKey); n > throttleMax {
		t.Errorf("%d addresses are remembered, want at most %d", n, throttleMax)
	}
	th.forget(now.Add(throttleWindow))
	if n := len(th.byKey); n != 0 {
		t.Errorf("%d addresses are remembered after their time", n)
	}
}

func TestThrottleJoinsWhatIsOneCustomer(t *testing.T) {
	cases := []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.2", false}, {"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::2", true}, {"2001:db8::1", "2001:db8:0:1::1", false}, {"fe80::1%eth0", "fe80::2%eth1", true},
	}
	for _, c := range cases {
		th := NewThrottle()
		for range throttleTries {
			th.Failed(netip.MustParseAddr(c.a), now)
		}
		if got := th.Wait(netip.MustParseAddr(c.b), now) > 0; got != c.same {
			t.Errorf("%s and %s: same %v, want %v", c.a, c.b, got, c.same)
		}
	}
	th := NewThrottle()
	th.Failed(netip.Addr{}, now)
	if th.Wait(netip.Addr{}, now) != 0 {
		t.Error("one failure without an address closes log-in")
	}
	th.Succeeded(netip.Addr{})
	if fmt.Sprint(th.byKey) != "map[]" {
		t.Errorf("after success: %v", th.byKey)
	}
}
