package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
)

// source is a partition with batches of one record each.
type source struct {
	Partition // what a poll does not call
	batches   [][]byte
	epoch     int32
	phase     Phase
	readErr   error

	unstable   int64 // batches from the last stable offset on
	aborted    []replica.Aborted
	abortedErr error
}

func newSource(t *testing.T, batches, valueBytes int) *source {
	t.Helper()
	s := &source{epoch: 3, phase: Serving}
	for i := range batches {
		b := record.NewBuilder(record.None)
		b.Append(record.Record{Value: make([]byte, valueBytes)})
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		record.SetPlace(batch, int64(i), 3)
		s.batches = append(s.batches, batch)
	}
	return s
}

func (s *source) Leader() (int32, int32, bool) { return 1, s.epoch, s.phase == Serving }
func (s *source) Phase() Phase                 { return s.phase }
func (s *source) LogStart() int64              { return 0 }
func (s *source) HighWatermark() int64         { return int64(len(s.batches)) }
func (s *source) Open()                        {}
func (s *source) Watch(chan<- struct{}) func() { return func() {} }
func (s *source) LastStableOffset() int64      { return s.HighWatermark() - s.unstable }
func (s *source) AbortedIn(from, to int64) ([]replica.Aborted, error) {
	var out []replica.Aborted
	for _, a := range s.aborted {
		if a.LastOffset >= from && a.FirstOffset < to {
			out = append(out, a)
		}
	}
	return out, s.abortedErr
}

func (s *source) ReadBelow(offset int64, maxBytes int, limit int64) ([]byte, error) {
	if s.readErr != nil {
		return nil, s.readErr
	}
	if offset < 0 || offset > s.HighWatermark() {
		return nil, replica.ErrOffsetOutOfRange
	}
	var out []byte
	for _, b := range s.batches[offset:max(offset, limit)] {
		if len(out) > 0 && len(out)+len(b) > maxBytes {
			break
		}
		out = append(out, b...)
	}
	return out, nil
}

func pollOf(room, partitionRoom, minBytes int, memory int64, sources ...*source) *poll {
	p := &poll{room: room, minBytes: minBytes, memory: semaphore.NewWeighted(memory)}
	for i, s := range sources {
		p.parts = append(p.parts, polled{source: s, key: partitionKey{number: int32(i)}, epoch: -1, room: partitionRoom})
	}
	return p
}

func TestPollKeepsItsLimits(t *testing.T) {
	const size = record.HeaderSize + 7 + 1000 + 2 // of a batch with a value of 1000 bytes, about
	for _, tc := range []struct {
		name                string
		room, partitionRoom int
		want                []int64 // next offsets
	}{
		{"everything", 1 << 20, 1 << 20, []int64{4, 4}},
		{"the partition's limit", 1 << 20, 2*size + 20, []int64{2, 2}},
		{"the request's limit is shared in order", 3*size + 30, 2*size + 20, []int64{2, 1}},
		{"a first batch larger than the limit, and only that", 10, 10, []int64{1, 0}},
		{"a limit of nothing", 0, 0, []int64{1, 0}},
		{"a first batch larger than its partition's limit", 1 << 20, 10, []int64{1, 0}},
	} {
		p := pollOf(tc.room, tc.partitionRoom, 1, 64<<20, newSource(t, 4, 1000), newSource(t, 4, 1000))
		if !p.fill(t.Context()) {
			t.Errorf("%s: not worth an answer", tc.name)
		}
		for i, want := range tc.want {
			if got := p.parts[i].next; got != want {
				t.Errorf("%s: partition %d read up to %d, want %d", tc.name, i, got, want)
			}
		}
	}
}

func TestPollReadsOnWhereItWas(t *testing.T) {
	s := newSource(t, 2, 100)
	p := pollOf(1<<20, 1<<20, 500, 64<<20, s)
	if p.fill(t.Context()) {
		t.Fatal("answered below min_bytes")
	}
	s.batches = newSource(t, 5, 100).batches
	if !p.fill(t.Context()) || p.parts[0].next != 5 || len(p.parts[0].data) != 2 || p.parts[0].records != 5 {
		t.Errorf("%+v", p.parts[0])
	}
}

func TestPollOfCommittedRecordsKeepsBelowTheLastStableOffset(t *testing.T) {
	s := newSource(t, 6, 100)
	s.unstable = 2
	s.aborted = []replica.Aborted{{ProducerID: 1, FirstOffset: 0, LastOffset: 1}, {ProducerID: 2, FirstOffset: 2, LastOffset: 3}, {ProducerID: 3, FirstOffset: 4, LastOffset: 5}}
	poll := func(offset int64, committed bool) *poll {
		p := pollOf(1<<20, 1<<20, 1, 64<<20, s)
		p.committed, p.parts[0].start, p.parts[0].next = committed, offset, offset
		return p
	}
	p := poll(2, true)
	if !p.fill(t.Context()) || p.parts[0].next != 4 || p.parts[0].lastStable != 4 || p.parts[0].highWatermark != 6 {
		t.Errorf("%+v", p.parts[0])
	}
	s.unstable = 0 // a marker came, and with it more to read
	p.fill(t.Context())
	if p.findAborted(); p.parts[0].next != 6 || len(p.parts[0].aborted) != 2 || p.parts[0].aborted[0].ProducerID != 2 {
		t.Errorf("%+v", p.parts[0])
	}
	s.unstable = 2
	for _, offset := range []int64{4, 5, 6} {
		if p := poll(offset, true); p.fill(t.Context()) || p.parts[0].err != nil || p.parts[0].bytes != 0 {
			t.Errorf("from %d: %+v", offset, p.parts[0])
		}
	}
	if p := poll(7, true); !p.fill(t.Context()) || code(p.parts[0].err) != kerr.OffsetOutOfRange.Code {
		t.Errorf("beyond the end: %+v", p.parts[0])
	}
	p = poll(2, false)
	p.fill(t.Context())
	if p.findAborted(); p.parts[0].next != 6 || p.parts[0].aborted != nil || p.parts[0].lastStable != 4 {
		t.Errorf("uncommitted: %+v", p.parts[0])
	}
	s.abortedErr = replica.ErrCorrupt
	p = poll(0, true)
	p.fill(t.Context())
	if p.findAborted(); p.parts[0].bytes != 0 || p.bytes != 0 || len(p.parts[0].data) != 0 || code(p.parts[0].err) != kerr.CorruptMessage.Code {
		t.Errorf("without the list of aborted transactions: %+v", p.parts[0])
	}
}

func TestPollAnswersErrorsAtOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*source, *polled)
		want   *kerr.Error
	}{
		{"before the start", func(_ *source, p *polled) { p.next = -1 }, kerr.OffsetOutOfRange},
		{"after the end", func(_ *source, p *polled) { p.next = 9 }, kerr.OffsetOutOfRange},
		{"an old leader", func(_ *source, p *polled) { p.epoch = 2 }, kerr.FencedLeaderEpoch},
		{"a leader to come", func(_ *source, p *polled) { p.epoch = 4 }, kerr.UnknownLeaderEpoch},
		{"being opened", func(s *source, _ *polled) { s.phase = Opening }, kerr.NotLeaderForPartition},
		{"deleted", func(s *source, _ *polled) { s.phase = Gone }, kerr.UnknownTopicOrPartition},
	} {
		good, bad := newSource(t, 1, 10), newSource(t, 1, 10)
		p := pollOf(1<<20, 1<<20, 1<<20, 64<<20, good, bad)
		tc.change(bad, &p.parts[1])
		if !p.fill(t.Context()) {
			t.Errorf("%s: would wait", tc.name)
		}
		if got := code(p.parts[1].err); got != tc.want.Code || p.parts[1].highWatermark != -1 {
			t.Errorf("%s: %+v, want %v", tc.name, p.parts[1], tc.want)
		}
		if p.parts[0].records != 1 || p.parts[0].err != nil {
			t.Errorf("%s: the other partition: %+v", tc.name, p.parts[0])
		}
	}
}

func TestPollsShareTheMemoryForAnswers(t *testing.T) {
	memory := semaphore.NewWeighted(3 << 20)
	first, second := pollOf(8<<20, 8<<20, 1, 0, newSource(t, 40, 100_000)), pollOf(8<<20, 8<<20, 1, 0, newSource(t, 40, 100_000))
	first.memory, second.memory = memory, memory
	first.fill(t.Context())
	if first.bytes == 0 || first.bytes > 3<<20 || first.held < int64(first.bytes) {
		t.Fatalf("first: %d bytes, holds %d", first.bytes, first.held)
	}
	memory.TryAcquire(3<<20 - first.held) // the rest is in use elsewhere
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if second.fill(ended); second.bytes != 0 {
		t.Fatalf("second read %d bytes without memory", second.bytes)
	}
	done := make(chan struct{})
	go func() { defer close(done); second.fill(t.Context()) }()
	first.release()
	<-done
	if second.bytes == 0 {
		t.Error("second read nothing after the first was written")
	}
	second.release()
}

func TestErrorsThatStayAreAnsweredInAPace(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(bad, good *source)
		maxWait  time.Duration
		wantWait time.Duration
		want     *kerr.Error
	}{
		{"failed", func(bad, _ *source) { bad.phase = Failed }, 5 * time.Second, 500 * time.Millisecond, kerr.KafkaStorageError},
		{"stopped", func(bad, _ *source) { bad.readErr = replica.ErrStopped }, 5 * time.Second, 500 * time.Millisecond, kerr.KafkaStorageError},
		{"damaged", func(bad, _ *source) { bad.readErr = replica.ErrCorrupt }, 5 * time.Second, 500 * time.Millisecond, kerr.CorruptMessage},
		{"a client in a hurry", func(bad, _ *source) { bad.readErr = replica.ErrCorrupt }, 100 * time.Millisecond, 100 * time.Millisecond, kerr.CorruptMessage},
		{"a client that does not wait", func(bad, _ *source) { bad.readErr = replica.ErrCorrupt }, 0, 0, kerr.CorruptMessage},
		{"enough elsewhere", func(bad, good *source) { bad.readErr = replica.ErrCorrupt; *good = *newSource(t, 1, 500) }, 5 * time.Second, 0, kerr.CorruptMessage},
	} {
		synctest.Test(t, func(t *testing.T) {
			good, bad := newSource(t, 0, 10), newSource(t, 1, 10)
			tc.change(bad, good)
			p := pollOf(1<<20, 1<<20, 500, 64<<20, bad, good)
			began := time.Now()
			(&Handler{}).wait(t.Context(), p, tc.maxWait)
			if took := time.Since(began); took != tc.wantWait {
				t.Errorf("%s: answered after %s, want %s", tc.name, took, tc.wantWait)
			}
			if got := code(p.parts[0].err); got != tc.want.Code || p.parts[1].err != nil {
				t.Errorf("%s: %+v, want %v", tc.name, p.parts, tc.want)
			}
		})
	}
}
