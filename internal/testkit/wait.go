package testkit

import (
	"testing"
	"time"
)

// Wait calls cond until it returns true and fails the test when that takes longer than within. Use it only where nothing tells when to
// look: another process, a file. Between two looks it waits from 1 to 50 ms.
func Wait(t testing.TB, what string, within time.Duration, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if cond() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s still waiting for: %s", within, what)
		}
		time.Sleep(pause)
	}
}
