package auth

import (
	"net/netip"
	"sync"
	"time"
)

const (
	throttleTries  = 10               // failures from one address within throttleWindow
	throttleWindow = 15 * time.Minute // also how long an address is kept waiting at most
	throttleMax    = 10_000           // addresses remembered, about 1 MiB
)

// Throttle slows down guessing: it counts failures by address. Addresses live in memory only and for at most throttleWindow.
// It is safe for use by several goroutines.
type Throttle struct {
	mu    sync.Mutex
	byKey map[netip.Prefix]failures
}

type failures struct {
	count int
	since time.Time
}

// NewThrottle returns an empty Throttle.
func NewThrottle() *Throttle { return &Throttle{byKey: map[netip.Prefix]failures{}} }

// Wait returns how long the address has to wait, 0 when it may try.
func (t *Throttle) Wait(addr netip.Addr, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.byKey[throttleKey(addr)]
	if left := f.since.Add(throttleWindow).Sub(now); f.count >= throttleTries && left > 0 {
		return left
	}
	return 0
}

// Failed counts a failure.
func (t *Throttle) Failed(addr netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := throttleKey(addr)
	f, ok := t.byKey[key]
	if !ok && len(t.byKey) >= throttleMax {
		t.forget(now)
	}
	if now.Sub(f.since) >= throttleWindow {
		f = failures{since: now}
	}
	f.count++
	t.byKey[key] = f
}

// Succeeded forgets the failures of an address.
func (t *Throttle) Succeeded(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byKey, throttleKey(addr))
}

// forget drops what is over and, when that is not enough, any tenth: whoever has ten thousand addresses is not stopped by counting them,
// the bound on passwords hashed at a time does that. The lock is held.
func (t *Throttle) forget(now time.Time) {
	for key, f := range t.byKey {
		if now.Sub(f.since) >= throttleWindow {
			delete(t.byKey, key)
		}
	}
	for key := range t.byKey {
		if len(t.byKey) <= throttleMax*9/10 {
			return
		}
		delete(t.byKey, key)
	}
}

// throttleKey joins what one customer usually gets: an IPv4 address, or an IPv6 /64.
func throttleKey(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no valid address: all of those together
	}
	return prefix
}
