package auth

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-analytics/weir/web/reply"
)

func TestPasswordsRoundTrip(t *testing.T) {
	h := NewHasher(1, 0)
	ctx := context.Background()
	hash, err := h.Hash(ctx, "correct horse")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%q %v", hash, err)
	}
	if again, _ := h.Hash(ctx, "correct horse"); again == hash {
		t.Error("two hashes of one password are equal: the salt is missing")
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horsf": false, "": false} {
		if ok, err := h.Verify(ctx, hash, password); ok != want || err != nil {
			t.Errorf("%q: %v %v, want %v", password, ok, err, want)
		}
	}
	if ok, err := h.Verify(ctx, "", ""); ok || err != nil {
		t.Errorf("no such user: %v %v", ok, err)
	}
}

func TestHashingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHasher(2, 3)
		ctx, cancel := context.WithCancel(t.Context())
		var release []func()
		for range 2 {
			free, err := h.acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			release = append(release, free)
		}
		waiting := make(chan error, 3)
		for range 3 {
			go func() { _, err := h.acquire(ctx); waiting <- err }()
		}
		synctest.Wait()
		if _, err := h.acquire(ctx); reply.From(err).Status != 503 {
			t.Errorf("the sixth caller: %v, want unavailable", err)
		}
		release[0]()
		if err := <-waiting; err != nil {
			t.Errorf("a caller in line: %v", err)
		}
		cancel()
		for range 2 {
			if err := <-waiting; err == nil {
				t.Error("a caller whose request ended got a slot")
			}
		}
	})
}

func TestNewPasswordsAreChecked(t *testing.T) {
	for password, ok := range map[string]bool{
		"12345678": true, strings.Repeat("x", 256): true, "1234567": false, "": false, strings.Repeat("x", 257): false, "bad \xff utf-8": false, "Schlüssel": true,
	} {
		if err := CheckPassword("password", password); (err == nil) != ok {
			t.Errorf("%.20q: %v, want ok %v", password, err, ok)
		}
	}
}

// FuzzParsePHC: no stored string panics or passes with a cost above the bounds.
func FuzzParsePHC(f *testing.F) {
	f.Add(decoyHash)
	f.Add("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$H9YweMwoZaKj+u6urw6adAxV6iLhNwQ/DYbynE6J72M")
	f.Add("$argon2id$v=19$m=4294967295,t=4294967295,p=255$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$2b$12$abc")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePHC(s)
		if err != nil {
			return
		}
		if p.memoryKiB > maxMemoryKiB || p.passes < 1 || p.passes > maxPasses || p.lanes < 1 || p.lanes > maxLanes || len(p.salt) > 64 || len(p.key) < 16 || len(p.key) > 64 {
			t.Fatalf("%q: %+v", s, p)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	b.ReportAllocs()
	h := NewHasher(1, 0)
	for b.Loop() {
		if _, err := h.Hash(b.Context(), "correct horse"); err != nil {
			b.Fatal(err)
		}
	}
}
