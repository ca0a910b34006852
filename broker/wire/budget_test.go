package wire

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// unused reports whether all memory was given back.
func unused(s *Server) bool {
	for _, b := range []*budget{s.budget, s.own} {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.free != int64(s.cfg.MemoryBytes-s.cfg.largestCost()) || b.small != smallReserve || b.keeper != nil || len(b.waiting) > 0 {
			return false
		}
	}
	return true
}

func listen(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(t.Context(), Listener{Listener: l})
	return l.Addr().String()
}

func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// begun is the start of a produce request of size bytes.
func begun(size, sent int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	return append(append(b, 0, 0, 0, 9), make([]byte, sent)...)
}

func TestHalfSentRequestsDoNotKeepOthersWaiting(t *testing.T) {
	s := open(t, nil, echo)
	addr := listen(t, s)
	for range 20 {
		connect(t, addr).Write(begun(99<<20, 100))
		connect(t, addr).Write(begun(99<<20, 100<<10))
	}
	large := strings.Repeat("x", 5<<20)
	for name, c := range map[string]net.Conn{"over the network": connect(t, addr), "within the process": dial(t, s)} {
		c.Write(request(18, 0, 1, "small"))
		if _, body := answer(t, c); body != "small" {
			t.Errorf("%s: answer %q", name, body)
		}
		go c.Write(request(0, 3, 2, large))
		if _, body := answer(t, c); body != large {
			t.Errorf("%s: a large request was answered with %d bytes", name, len(body))
		}
	}
}

func TestSmallRequestsAreReadWhileLargeOnesFillTheMemory(t *testing.T) {
	s := open(t, func(c *Config) {
		c.MaxProduceBytes, c.MaxRequestBytes, c.MemoryBytes = 8<<20, 64<<10, 16<<20
	}, echo)
	addr := listen(t, s)
	for range 5 { // each has sent most of its bytes: together more than the memory
		c := connect(t, addr)
		go c.Write(begun(8<<20, 7<<20))
	}
	testkit.Wait(t, "the memory to be full", time.Minute, func() bool {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		return s.budget.keeper != nil && len(s.budget.waiting) > 0
	})
	for name, c := range map[string]net.Conn{"over the network": connect(t, addr), "within the process": dial(t, s)} {
		for i := range int32(100) {
			c.Write(request(18, 0, i, "small"))
			if _, body := answer(t, c); body != "small" {
				t.Errorf("%s: answer %q", name, body)
			}
		}
	}
}

// Many large requests at once take turns, none is lost.
func TestLargeRequestsAreAllReadWithLittleMemory(t *testing.T) {
	s := open(t, func(c *Config) {
		c.MaxProduceBytes, c.MaxRequestBytes, c.MemoryBytes = 8<<20, 64<<10, 12<<20
	}, echo)
	addr := listen(t, s)
	var all sync.WaitGroup
	for range 8 {
		c := connect(t, addr)
		all.Go(func() {
			body := strings.Repeat("y", 7<<20)
			go c.Write(request(0, 3, 1, body))
			if _, got := answer(t, c); got != body {
				t.Errorf("answer of %d bytes", len(got))
			}
		})
	}
	all.Wait()
	s.Close()
	if !unused(s) {
		t.Error("memory is still taken")
	}
}

func TestAStalledRequestIsGivenUpASlowOneIsNot(t *testing.T) {
	for name, tc := range map[string]struct {
		first int // sent at once
		every time.Duration
		step  int
		lives bool
	}{
		"stops at once":               {100, time.Hour, 1, false},
		"stops after a fast start":    {3 << 20, time.Hour, 1, false},
		"a byte every ten seconds":    {100, 10 * time.Second, 1, false},
		"twice the slowest rate":      {100, time.Second, 2 * slowestPeer, true},
		"pauses of 20 s, but not far": {100, 20 * time.Second, 40 * slowestPeer, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := Open(Default(), handlerFunc(echo))
				if err != nil {
					t.Fatal(err)
				}
				ours, theirs := net.Pipe()
				if err := s.start(ours, "192.0.2.1", &Listener{}); err != nil {
					t.Fatal(err)
				}
				go io.Copy(io.Discard, theirs)
				frame := request(0, 3, 1, strings.Repeat("x", 8<<20))
				theirs.Write(frame[:tc.first])
				began := time.Now()
				rest := frame[tc.first:]
				for len(rest) > 0 && err == nil {
					time.Sleep(tc.every)
					n := min(tc.step, len(rest))
					_, err = theirs.Write(rest[:n])
					rest = rest[n:]
				}
				if (err == nil) != tc.lives {
					t.Errorf("after %v: %v, want to live: %v", time.Since(began), err, tc.lives)
				}
				theirs.Close()
				s.Close()
				if !unused(s) {
					t.Error("memory is still taken")
				}
			})
		})
	}
}

// Whatever the order, the memory in use never exceeds the budget, everyone is served in the end, and all is given back.
func TestBudgetAtRandom(t *testing.T) {
	const total, kept = 1000, 400
	b := newBudget(total, kept)
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(10) == 0 {
					cancel()
				}
				s := &share{b: b}
				for left := int64(kept); left > 0; {
					step := min(left, 1+random.Int64N(200))
					if s.grow(ctx, step) != nil {
						break
					}
					left -= step
				}
				b.mu.Lock()
				if b.free < 0 || b.small < 0 {
					t.Errorf("free %d, small %d", b.free, b.small)
				}
				b.mu.Unlock()
				s.release()
				cancel()
			}
		})
	}
	all.Wait()
	if b.free != total-kept || b.keeper != nil || len(b.waiting) != 0 {
		t.Errorf("at the end free %d, keeper %v, %d waiting", b.free, b.keeper, len(b.waiting))
	}
}
