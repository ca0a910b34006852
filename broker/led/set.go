package led

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Stage is how far a shard has come.
type Stage int8

// The stages, in their order; a load that failed is tried again.
const (
	Loading  Stage = iota
	Loaded         // requests are served
	Failed         // could not be loaded; tried again
	Unloaded       // given up, for ever
)

// Shard is what the owner keeps of one partition for one epoch. All methods may be called at any time, also at once.
type Shard interface {
	comparable
	// Run loads the shard and serves it until it is unloaded. changed is called when requests need not wait longer.
	Run(changed func())
	// Current says whether this node still leads the partition in the shard's epoch.
	Current() bool
	Stage() Stage
	// Unload gives the shard up: everything that waits is answered, nothing is taken any more, and Run ends.
	Unload()
	// Written returns a channel that is closed once everything that was to be written is, or never will be.
	Written() <-chan struct{}
}

// Open makes the shard of a partition for the epoch in which it was found to be led. ctx ends with cancel, which the shard calls when it is
// unloaded.
type Open[S Shard] func(ctx context.Context, cancel context.CancelCauseFunc) S

// Config says which partitions there are.
type Config[S Shard] struct {
	Count    func() int32                          // partitions of the topic, 0 while there is no such topic
	Led      func(partition int32) (Open[S], bool) // whether this node leads a partition and may serve it; called with requests
	LoadWait time.Duration                         // how long a request waits for a shard that is being loaded
}

// Set holds the shards. All methods may be called at any time from any goroutine; At answers while Run runs.
type Set[S Shard] struct {
	cfg  Config[S]
	wake chan struct{} // one pending wake-up is enough

	mu      sync.Mutex
	shards  map[int32]S
	changed chan struct{} // closed and replaced whenever shards changes or one of them is loaded
	stopped bool
}

// New makes an empty set. It starts nothing.
func New[S Shard](cfg Config[S]) *Set[S] {
	return &Set[S]{cfg: cfg, wake: make(chan struct{}, 1), shards: map[int32]S{}, changed: make(chan struct{})}
}

// Wake makes the set look at once whether this node leads other partitions than before. Without it that is noticed with the next request to
// such a partition, or within a second.
func (t *Set[S]) Wake() { Signal(t.wake) }

// Signal puts a token into a channel that holds one, unless one is there.
func Signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// CheckEvery is how often leadership is looked at without being asked to. Requests look for themselves; this is for what is due before
// somebody asks: sessions that end, transactions that time out.
const CheckEvery = time.Second

// Run loads the partitions that this node leads and gives up those it no longer does, until ctx ends. Parked requests are
// answered before it returns.
func (t *Set[S]) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer t.stop()
	ticker := time.NewTicker(CheckEvery)
	defer ticker.Stop()
	for {
		t.reconcile(ctx, &wg)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-t.wake:
		}
	}
}

// reconcile brings the shards in line with what this node leads.
func (t *Set[S]) reconcile(ctx context.Context, wg *sync.WaitGroup) {
	count := t.cfg.Count()
	for p, s := range t.snapshot() {
		if p >= count || !s.Current() || s.Stage() == Unloaded {
			t.drop(p, s)
		}
	}
	for p := range count {
		open, led := t.cfg.Led(p)
		if _, there := t.Get(p); !led || there {
			continue
		}
		// A shard outlives Run's context by the time that stop gives it; Unload ends it.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		s := open(ctx, cancel)
		t.put(p, s)
		wg.Go(func() {
			defer cancel(nil)
			s.Run(t.note)
			t.Wake() // one that gave itself up is to be loaded again
		})
	}
}

// Get returns the shard of a partition, loaded or not.
func (t *Set[S]) Get(p int32) (s S, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok = t.shards[p]
	return s, ok
}

func (t *Set[S]) put(p int32, s S) {
	t.mu.Lock()
	t.shards[p] = s
	t.mu.Unlock()
	t.note()
}

func (t *Set[S]) drop(p int32, s S) {
	t.mu.Lock()
	delete(t.shards, p)
	t.mu.Unlock()
	s.Unload()
	t.note()
}

// note tells waiting requests that the shards have changed.
func (t *Set[S]) note() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *Set[S]) snapshot() map[int32]S {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.shards)
}

// All returns the shards in no order.
func (t *Set[S]) All() []S { return slices.Collect(maps.Values(t.snapshot())) }

// StopWait is how long a stop waits for what is being written: members that left on a clean stop should not be missed for a whole session
// after the next start, and an end of a transaction that was written is better answered than asked again. A disk that takes longer is ill.
const StopWait = 2 * time.Second

// stop takes no more requests, lets what is queued be written, and gives everything up.
func (t *Set[S]) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.note()
	timeout := time.NewTimer(StopWait)
	defer timeout.Stop()
	for _, s := range t.snapshot() {
		select {
		case <-s.Written():
		case <-timeout.C:
			timeout.Reset(0) // nor wait for the others
		}
	}
	for p, s := range t.snapshot() {
		t.drop(p, s)
	}
}

// For returns the loaded shard of a name that find maps to a partition, or the error code to answer: as At.
func (t *Set[S]) For(ctx context.Context, name string, find func(name string, count int32) int32) (s S, code int16) {
	count := t.cfg.Count()
	if count <= 0 {
		return s, kerr.NotCoordinator.Code
	}
	return t.At(ctx, find(name, count))
}

// At returns a partition's shard if it is loaded, after waiting a little if it is just being loaded. Otherwise code is the protocol's:
// NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS or COORDINATOR_NOT_AVAILABLE.
func (t *Set[S]) At(ctx context.Context, p int32) (s S, code int16) {
	s, code, changed := t.lookUp(p)
	if changed == nil {
		return s, code
	}
	var none S
	timeout := time.NewTimer(t.cfg.LoadWait)
	defer timeout.Stop()
	for changed != nil {
		select {
		case <-changed:
			s, code, changed = t.lookUp(p)
		case <-timeout.C:
			return none, kerr.CoordinatorLoadInProgress.Code
		case <-ctx.Done():
			return none, kerr.CoordinatorLoadInProgress.Code
		}
	}
	return s, code
}

// lookUp returns a partition's shard or the code to answer. A channel says that it is worth to look again when that is closed.
func (t *Set[S]) lookUp(p int32) (S, int16, <-chan struct{}) {
	var none S
	t.mu.Lock()
	s, changed, stopped := t.shards[p], t.changed, t.stopped
	t.mu.Unlock()
	if stopped {
		return none, kerr.NotCoordinator.Code, nil
	}
	if s == none || !s.Current() {
		t.Wake()
		if _, led := t.cfg.Led(p); !led {
			return none, kerr.NotCoordinator.Code, nil
		}
		return none, kerr.CoordinatorLoadInProgress.Code, changed
	}
	switch s.Stage() {
	case Loaded:
		return s, 0, nil
	case Failed:
		return none, kerr.CoordinatorNotAvailable.Code, nil
	default:
		return none, kerr.CoordinatorLoadInProgress.Code, changed
	}
}
