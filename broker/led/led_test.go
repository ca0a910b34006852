package led

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-analytics/weir/broker/record"
)

// stub is a shard that is loaded after a while, unless it fails.
type stub struct {
	epoch  int32
	now    *atomic.Int32 // the epoch that counts, 0 when this node leads nothing
	stage  atomic.Int32
	takes  time.Duration
	cancel context.CancelCauseFunc
	ctx    context.Context
}

func (s *stub) Run(changed func()) {
	time.Sleep(s.takes) // virtual
	s.stage.CompareAndSwap(int32(Loading), int32(Loaded))
	changed()
	<-s.ctx.Done()
}
func (s *stub) Current() bool { return s.now.Load() == s.epoch }
func (s *stub) Stage() Stage  { return Stage(s.stage.Load()) }
func (s *stub) Unload()       { s.stage.Store(int32(Unloaded)); s.cancel(nil) }
func (s *stub) Written() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func TestAShardLivesForOneEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var epoch atomic.Int32
		set := New(Config[*stub]{Count: func() int32 { return 2 }, LoadWait: 300 * time.Millisecond, Led: func(p int32) (Open[*stub], bool) {
			e := epoch.Load()
			return func(ctx context.Context, cancel context.CancelCauseFunc) *stub {
				return &stub{epoch: e, now: &epoch, takes: time.Duration(p) * time.Second, ctx: ctx, cancel: cancel}
			}, e != 0
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- set.Run(ctx) }()
		at := func(p int32, want int16) *stub {
			t.Helper()
			s, code := set.At(t.Context(), p)
			if code != want || (s == nil) != (want != 0) {
				t.Errorf("partition %d: %v with code %d, want %d", p, s, code, want)
			}
			return s
		}
		at(0, kerr.NotCoordinator.Code)
		epoch.Store(1)
		one := at(0, 0) // found by the request
		at(1, kerr.CoordinatorLoadInProgress.Code)
		time.Sleep(time.Second)
		at(1, 0)
		epoch.Store(2)
		if two := at(0, 0); two == one || two.epoch != 2 || one.Stage() != Unloaded {
			t.Errorf("in the next epoch: %+v", two)
		}
		two, _ := set.Get(0)
		two.Unload() // it gives itself up, and another one takes its place
		if three := at(0, 0); three == two {
			t.Error("a shard that was given up serves")
		}
		cancel()
		if err := <-ended; err != nil || len(set.All()) != 0 {
			t.Errorf("after the end: %v, %d shards", err, len(set.All()))
		}
		at(0, kerr.NotCoordinator.Code)
	})
}

func TestLoadingIsTriedAgainUntilItSucceedsOrIsNotWanted(t *testing.T) {
	for name, wanted := range map[string]bool{"wanted": true, "not wanted any more": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, installed, began := 0, false, time.Now()
				got := UntilLoaded(t.Context(), func() bool { return wanted || tries < 4 }, func() (func(), error) {
					if tries++; tries < 4 {
						return nil, errors.New("not yet")
					}
					return func() { installed = true }, nil
				}, func(error, time.Duration) {})
				if got != wanted || installed != wanted || tries != 4 || time.Since(began) != 700*time.Millisecond {
					t.Errorf("got %v, installed %v, after %d tries and %v", got, installed, tries, time.Since(began))
				}
			})
		})
	}
}

// pieces is a log that hands out one piece for each read.
type pieces [][]byte

func (p *pieces) Read(int64, int) (b []byte, err error) { b, *p = (*p)[0], (*p)[1:]; return b, nil }
func (*pieces) LogStart() int64                         { return 5 }
func (*pieces) HighWatermark() int64                    { return 7 }

func TestReadLogTakesEveryBatchOrFails(t *testing.T) {
	batch := func(offset int64) []byte {
		b := record.NewBuilder(record.None)
		b.Append(record.Record{Value: []byte("v")})
		out, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		record.SetPlace(out, offset, 1)
		return out
	}
	flipped := batch(6)
	flipped[len(flipped)-1] ^= 1
	for name, c := range map[string]struct {
		log  pieces
		want []int64 // offsets taken
		ok   bool
	}{
		"whole":           {pieces{batch(5), batch(6)}, []int64{5, 6}, true},
		"in one read":     {pieces{append(batch(5), batch(6)...)}, []int64{5, 6}, true},
		"nothing there":   {pieces{batch(5), nil}, []int64{5}, false},
		"a flipped bit":   {pieces{batch(5), flipped}, []int64{5}, false},
		"half of a batch": {pieces{batch(5)[:30]}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int64
			next, err := ReadLog(t.Context(), &c.log, func(b record.Batch) error { got = append(got, b.BaseOffset); return nil })
			if len(got) != len(c.want) || (err == nil) != c.ok || c.ok && next != 7 {
				t.Errorf("took %v up to %d: %v", got, next, err)
			}
		})
	}
}
