package replica

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-analytics/weir/raftfsm/peer"
)

// sim is three replicas in virtual time, on disks that lose what was not synced and over a network that loses, delays and cuts.
type sim struct {
	*cluster
	rng       *rand.Rand
	mu        sync.Mutex
	live      [3]*Replica
	committed map[int64]string // what any replica ever had below its high watermark
	acked     map[int64]string
	messages  int
}

// envInt is a number from the environment, for runs by hand.
func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// What was acknowledged stays at its offset, and no offset ever has two values below a high watermark, whatever happens to nodes and messages.
// WEIR_SIM_SEED repeats a run's faults, WEIR_SIM_RUNS and WEIR_SIM_STEPS make it longer.
func TestSimulatedReplicasLoseNothing(t *testing.T) {
	for range envInt("WEIR_SIM_RUNS", 3) {
		seed := rand.Uint64()
		if s, err := strconv.ParseUint(os.Getenv("WEIR_SIM_SEED"), 10, 64); err == nil {
			seed = s
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, envInt("WEIR_SIM_STEPS", 60)) })
		})
	}
}

func simulate(t *testing.T, seed uint64, steps int) {
	s := &sim{rng: rand.New(rand.NewPCG(seed, 1)), committed: map[int64]string{}, acked: map[int64]string{}}
	net := peer.NewMemory(seed)
	net.Watch = func(string, string) { s.mu.Lock(); s.messages++; s.mu.Unlock() }
	s.cluster = newClusterOver(t, net)
	s.live = s.rs
	sending, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.send(sending) })
	for range steps {
		s.fault()
		time.Sleep(time.Duration(s.rng.Int64N(int64(1500 * time.Millisecond))))
		s.look()
	}
	s.heal()
	time.Sleep(5 * time.Second)
	stop()
	wg.Wait()
	l := s.leader()
	for i := range s.rs {
		s.caughtUp(i, l.HighWatermark())
	}
	s.look()
	for offset, want := range s.acked {
		if got := s.committed[offset]; got != want {
			t.Errorf("offset %d: %q was acknowledged, there is %q", offset, want, got)
		}
	}
	if len(s.acked) < steps {
		t.Errorf("%d records were acknowledged in %d steps: the simulation stands still", len(s.acked), steps)
	}
	t.Logf("%d records, %d messages", len(s.acked), s.messages)
}

// send writes one record after the other, as an idempotent producer that tries again until it is acknowledged.
func (s *sim) send(ctx context.Context) {
	for seq := int32(0); ctx.Err() == nil; {
		s.mu.Lock()
		r := s.live[int(seq)%3]
		for _, one := range s.live {
			if one == nil {
				continue
			}
			if _, _, serving := one.Leader(); serving {
				r = one
			}
		}
		s.mu.Unlock()
		if r == nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		p := r.Append(within, from(s.t, 5, 0, seq, 1))
		select {
		case <-p.Done():
		case <-within.Done(): // as a client that gives up waiting
		}
		cancel()
		select {
		case <-p.Done():
		default:
			continue
		}
		res, err := p.Result()
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		s.acked[res.BaseOffset] = fmt.Sprintf("p5 e0 s%d", seq)
		s.mu.Unlock()
		seq++
		time.Sleep(10 * time.Millisecond) // or virtual time would stand still
	}
}

// fault does one thing to the cluster.
func (s *sim) fault() {
	a, b := s.rng.IntN(3), s.rng.IntN(3)
	switch s.rng.IntN(6) {
	case 0, 1:
		s.crash(a)
	case 2: // all of them at once
		for i := range 3 {
			s.crash(i)
		}
	case 3:
		s.net.Cut(serverName(a), serverName(b), true)
	case 4:
		s.net.SetFaults(peer.Faults{Lose: s.rng.Float64() / 5, MaxDelay: time.Duration(s.rng.IntN(60)+1) * time.Millisecond})
	default:
		s.heal()
	}
}

func (s *sim) heal() {
	s.net.SetFaults(peer.Faults{})
	for i := range 3 {
		for j := range 3 {
			s.net.Cut(serverName(i), serverName(j), false)
		}
	}
}

// crash cuts the power of a node: of what was not synced a part is on its disk, or nothing. It comes back at once.
func (s *sim) crash(i int) {
	s.mu.Lock()
	s.live[i] = nil
	s.mu.Unlock()
	s.net.Kill(serverName(i))
	after := s.disks[i].Crash(func() bool { return s.rng.IntN(2) == 0 })
	_ = s.rs[i].Close() // on the disk that is gone
	s.disks[i] = after
	s.start(i, false)
	s.mu.Lock()
	s.live[i] = s.rs[i]
	s.mu.Unlock()
}

// look compares what replicas have below their high watermarks with what any of them ever had there.
func (s *sim) look() {
	for i, r := range s.rs {
		if r.Err() != nil {
			s.t.Fatalf("replica %d has stopped: %v", i, r.Err())
		}
		for offset, got := range values(s.t, r) {
			if want, known := s.committed[int64(offset)]; known && want != got {
				s.t.Fatalf("offset %d of replica %d: %q, it was %q", offset, i, got, want)
			}
			s.committed[int64(offset)] = got
		}
	}
}
