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
type Throttle struct{ counter[netip.Prefix] }

// NewThrottle returns an empty Throttle.
func NewThrottle() *Throttle { return &Throttle{newCounter[netip.Prefix](throttleTries)} }

// Wait returns how long the address has to wait, 0 when it may try.
func (t *Throttle) Wait(addr netip.Addr, now time.Time) time.Duration {
	return t.wait(throttleKey(addr), now)
}

// Failed counts a failure.
func (t *Throttle) Failed(addr netip.Addr, now time.Time) { t.failed(throttleKey(addr), now) }

// Succeeded forgets the failures of an address.
func (t *Throttle) Succeeded(addr netip.Addr) { t.succeeded(throttleKey(addr)) }

// counter counts failures by key within throttleWindow. It is safe for use by several goroutines.
type counter[K comparable] struct {
	tries int // that are allowed within the window
	mu    sync.Mutex
	byKey map[K]failures
}

type failures struct {
	count int
	since time.Time
}

func newCounter[K comparable](tries int) counter[K] {
	return counter[K]{tries: tries, byKey: map[K]failures{}}
}

func (c *counter[K]) wait(key K, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.byKey[key]
	if left := f.since.Add(throttleWindow).Sub(now); f.count >= c.tries && left > 0 {
		return left
	}
	return 0
}

func (c *counter[K]) failed(key K, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.byKey[key]
	if !ok && len(c.byKey) >= throttleMax {
		c.forget(now)
	}
	if now.Sub(f.since) >= throttleWindow {
		f = failures{since: now}
	}
	f.count++
	c.byKey[key] = f
}

func (c *counter[K]) succeeded(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byKey, key)
}

// forget drops what is over and, when that is not enough, any tenth: whoever has ten thousand addresses is not stopped by counting them,
// the bound on passwords hashed at a time does that. The lock is held.
func (c *counter[K]) forget(now time.Time) {
	for key, f := range c.byKey {
		if now.Sub(f.since) >= throttleWindow {
			delete(c.byKey, key)
		}
	}
	for key := range c.byKey {
		if len(c.byKey) <= throttleMax*9/10 {
			return
		}
		delete(c.byKey, key)
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
