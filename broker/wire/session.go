package wire

import (
	"context"
	"sync/atomic"
	"time"
)

// Anonymous is the principal of a peer that nobody asked who it is.
const Anonymous = "User:ANONYMOUS"

// Session is who is at the other end of a connection. Handler.Serve reads and changes its fields, which is called by one goroutine per
// connection: what a request says of its sender counts from the next request on. Mute may be called from any goroutine.
type Session struct {
	// Principal is Anonymous, the subject of the peer's certificate ("User:CN=..."), or what a log-in made of it. "" on a listener with
	// log-in until there was one: frames are small and read one at a time until then.
	Principal string
	// Raw makes the next frame a bare one: a size and bytes without a header, as in log-ins after SaslHandshake v0. It is handed over as a
	// Request with Raw set, and answered in the same form.
	Raw bool
	// State is the handler's own.
	State any

	mutedUntil atomic.Int64 // Unix nanoseconds
}

// Mute keeps the connection's next requests from being read for d, beginning now. What has been answered is not held back.
func (s *Session) Mute(d time.Duration) {
	until := time.Now().Add(d).UnixNano()
	for {
		old := s.mutedUntil.Load()
		if old >= until || s.mutedUntil.CompareAndSwap(old, until) {
			return
		}
	}
}

// muted waits until the connection may be read again, or ctx ends.
func (s *Session) muted(ctx context.Context) {
	for {
		until := s.mutedUntil.Load()
		if until == 0 {
			return
		}
		left := time.Until(time.Unix(0, until))
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
