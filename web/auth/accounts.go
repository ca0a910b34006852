package auth

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

const (
	accountTries = 50                  // failures of one account within throttleWindow, from all addresses that it is not at home at
	homeFor      = 30 * 24 * time.Hour // how long an address stays one after a log-in from it
	homesMax     = 10_000              // of all accounts, about 1 MiB
)

// accounts slows down guessing one account's password from many addresses. Addresses that the account was used from are not held up: a
// stranger who guesses must not keep its owner out. Names and addresses are kept as hashes, in memory only. An account that does not exist
// is treated like one that does.
// It is safe for use by several goroutines.
type accounts struct {
	counter[[32]byte]

	mu    sync.Mutex
	homes map[[32]byte]time.Time // of account and address, when the last log-in was
}

func newAccounts() *accounts {
	return &accounts{counter: newCounter[[32]byte](accountTries), homes: map[[32]byte]time.Time{}}
}

// Wait returns how long nobody may try the account from that address, 0 when one may.
func (a *accounts) Wait(account string, addr netip.Addr, now time.Time) time.Duration {
	if a.atHome(account, addr, now) {
		return 0
	}
	return a.wait(sha256.Sum256([]byte(account)), now)
}

// Failed counts a failure.
func (a *accounts) Failed(account string, addr netip.Addr, now time.Time) {
	if !a.atHome(account, addr, now) {
		a.failed(sha256.Sum256([]byte(account)), now)
	}
}

// Succeeded remembers where the account was used from. Failures of others still count.
func (a *accounts) Succeeded(account string, addr netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	home := homeOf(account, addr)
	if _, known := a.homes[home]; !known && len(a.homes) >= homesMax {
		a.leave(now)
	}
	a.homes[home] = now
}

func (a *accounts) atHome(account string, addr netip.Addr, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.homes[homeOf(account, addr)]
	return ok && now.Sub(last) < homeFor
}

// leave drops homes that are over and, when that is not enough, any tenth. The lock is held.
func (a *accounts) leave(now time.Time) {
	for home, last := range a.homes {
		if now.Sub(last) >= homeFor {
			delete(a.homes, home)
		}
	}
	for home := range a.homes {
		if len(a.homes) <= homesMax*9/10 {
			return
		}
		delete(a.homes, home)
	}
}

func homeOf(account string, addr netip.Addr) [32]byte {
	return sha256.Sum256([]byte(throttleKey(addr).String() + " " + account))
}
