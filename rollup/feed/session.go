package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Bounds of a session. Fetches of this size keep memory small; a batch of our own producers has at most 1 MB.
const (
	fetchBytes          = 4 << 20
	fetchPartitionBytes = 1 << 20
	fetchWait           = 5 * time.Second // the broker answers as soon as there is anything
	commitEvery         = time.Second
	deliveryTimeout     = 30 * time.Second
)

// session is one life of a member: a client, and a worker for each partition it was assigned.
type session struct {
	cfg    Config
	sick   *sick
	client *kgo.Client
	cancel context.CancelCauseFunc
	placed placement

	mu         sync.Mutex // held while workers are called or exchanged
	seats      map[int32]*seat
	out        map[int32]bool // assigned and left out
	lastCommit time.Time
}

// seat is a partition that this member holds.
type seat struct {
	partition int32
	worker    Worker
	pending   []*kgo.Record // fetched, not yet taken by the worker
	paused    bool          // not fetched, because something is pending
	committed int64
}

// runSession lives until ctx ends or something goes wrong, and returns what did.
func runSession(ctx context.Context, cfg Config, sick *sick) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{cfg: cfg, sick: sick, out: map[int32]bool{}, cancel: cancel, seats: map[int32]*seat{}, placed: placement{wake: make(chan struct{}, 1)}}
	var static []kgo.Opt
	if cfg.Member != "" {
		static = append(static, kgo.InstanceID(cfg.Member))
	}
	s.client, err = cfg.Log.Client(append(static,
		kgo.ConsumerGroup(cfg.Group),
		kgo.ConsumeTopics(cfg.Topic),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(6*time.Second),
		kgo.RebalanceTimeout(15*time.Second),
		kgo.HeartbeatInterval(2*time.Second),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.AdjustFetchOffsetsFn(s.assign),
		kgo.OnPartitionsRevoked(s.revoke),
		kgo.OnPartitionsLost(s.revoke),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchPartitionBytes),
		kgo.FetchMaxWait(fetchWait),
		kgo.ManualFlushing(), // a flush leaves as one batch, or not at all
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordDeliveryTimeout(deliveryTimeout),
		kgo.MaxBufferedRecords(1<<20),
		kgo.ProducerBatchCompression(cfg.Codec),
		kgo.WithHooks(&s.placed),
	)...)
	if err != nil {
		return err
	}
	defer s.close()
	var retries sync.WaitGroup
	retries.Go(func() { s.retry(ctx) })
	defer retries.Wait()
	defer cancel(nil)
	for {
		if err := s.step(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
	}
}

// close leaves the group, so that another member can take over at once. What was not flushed is read again by whoever does.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s.commit(ctx, true)
	s.client.AllowRebalance()
	_ = s.client.LeaveGroupContext(ctx) // a member that cannot say so is missed after its session timeout
	s.client.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for partition := range s.seats {
		s.let(partition)
	}
	s.cfg.Metrics.partitions.WithLabelValues(s.cfg.Group).Set(0)
}

// step waits for records or for a flush that is due, and does one round of work.
func (s *session) step(ctx context.Context) error {
	fetches := s.poll(ctx)
	// Until rebalances are allowed again no partition is taken away, so the records in hand belong to the seats as they are.
	defer s.client.AllowRebalance()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, fe := range fetches.Errors() {
		if !errors.Is(fe.Err, context.DeadlineExceeded) {
			if fe.Partition < 0 || fe.Topic == "" {
				return fmt.Errorf("read topic %s: %w", s.cfg.Topic, fe.Err)
			}
			return &partitionError{fe.Partition, fmt.Errorf("read topic %s: %w", fe.Topic, fe.Err)}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if st := s.seats[p.Partition]; st != nil {
			st.pending = append(st.pending, p.Records...)
		}
	})
	if err := s.work(ctx); err != nil {
		return err
	}
	s.commitNow(ctx, false)
	return nil
}

// poll waits for records until a worker is to be looked at. It does not wait while there is something to do.
func (s *session) poll(ctx context.Context) kgo.Fetches {
	now := time.Now()
	at := s.wakeAt(now)
	if !at.After(now) {
		//lint:ignore SA1012 nil asks for what is there, at once
		return s.client.PollFetches(nil)
	}
	wait, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	return s.client.PollFetches(wait)
}

// wakeAt returns when to look at the workers again if no record comes.
func (s *session) wakeAt(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := now.Add(s.cfg.Tick)
	for _, st := range s.seats {
		if len(st.pending) > 0 {
			return now
		}
		if due := st.worker.Due(); !due.IsZero() && due.Before(at) {
			at = due
		}
	}
	return at
}

// work hands the pending records to the workers, and flushes those that are full or due. A partition whose worker has not taken all that
// is pending is not fetched meanwhile; the others are, so that one with much to do does not hold them up.
func (s *session) work(ctx context.Context) error {
	full := map[int32]bool{}
	var busy, idle []int32
	for _, st := range s.seats {
		if len(st.pending) > 0 {
			n, err := st.worker.Add(ctx, st.pending, time.Now())
			if err != nil {
				return &partitionError{st.partition, err}
			}
			s.cfg.Metrics.records.WithLabelValues(s.cfg.Group).Add(float64(n))
			st.pending = st.pending[n:]
		}
		switch left := len(st.pending) > 0; {
		case left && !st.paused:
			busy = append(busy, st.partition)
		case !left && st.paused:
			idle = append(idle, st.partition)
		}
		full[st.partition] = len(st.pending) > 0
		st.paused = full[st.partition]
	}
	if len(busy) > 0 {
		s.client.PauseFetchPartitions(map[string][]int32{s.cfg.Topic: busy})
	}
	if len(idle) > 0 {
		s.client.ResumeFetchPartitions(map[string][]int32{s.cfg.Topic: idle})
	}
	return s.flush(ctx, full)
}

// flush publishes for all workers that are due, and for those that are full.
func (s *session) flush(ctx context.Context, full map[int32]bool) error {
	now := time.Now()
	type part struct {
		seat    *seat
		records []*kgo.Record
	}
	var parts []part
	count := 0
	for _, st := range s.seats {
		due := st.worker.Due()
		if !full[st.partition] && (due.IsZero() || due.After(now)) {
			continue
		}
		records, err := st.worker.Flush(ctx, now)
		if err != nil {
			return &partitionError{st.partition, err}
		}
		if len(records) == 0 {
			continue
		}
		parts = append(parts, part{st, records})
		count += len(records)
	}
	if count == 0 {
		return nil
	}
	var all []*kgo.Record
	for _, p := range parts {
		all = append(all, p.records...)
	}
	if err := s.publish(ctx, all); err != nil {
		return err
	}
	s.cfg.Metrics.observeFlush(s.cfg.Group, count, time.Since(now))
	for _, p := range parts {
		if err := p.seat.worker.Flushed(p.records, time.Now()); err != nil {
			return &partitionError{p.seat.partition, err}
		}
		s.sick.well(p.seat.partition)
	}
	return nil
}

// publish sends records and waits until all are committed. After an error it is unknown which are.
func (s *session) publish(ctx context.Context, records []*kgo.Record) error {
	failed := make(chan error, 1)
	s.placed.expect(len(records))
	for _, r := range records {
		s.client.Produce(ctx, r, func(r *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- &partitionError{r.Partition, fmt.Errorf("publish to topic %s: %w", r.Topic, err)}:
				default:
				}
			}
		})
	}
	// Nothing is sent before all records lie in the batches of their partitions: the client may still be learning about the topic.
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.placed.wake:
	}
	if err := s.client.Flush(ctx); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// assign is called by the client with the partitions that came to this member, and returns where to read on.
func (s *session) assign(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var partitions, out []int32
	now := time.Now()
	for partition := range offsets[s.cfg.Topic] {
		if s.sick.waiting(partition, now) {
			out = append(out, partition)
		} else {
			partitions = append(partitions, partition)
		}
	}
	slices.Sort(partitions)
	starts, err := s.cfg.Open(ctx, partitions)
	if err != nil {
		if ctx.Err() == nil { // otherwise the partitions were taken away meanwhile
			s.cancel(fmt.Errorf("find the position in partitions %v: %w", partitions, err))
		}
		return nil, err
	}
	now = time.Now()
	var early error
	for partition, start := range starts {
		switch {
		case start.Err == nil:
			s.sick.opened(partition, now)
			continue
		case s.sick.failed(partition, start.Err, now):
			out = append(out, partition)
			if s.sick.speak(partition, now) {
				s.cfg.Log.Logger.Error("a partition cannot be counted and is left out, the others go on; it is tried again by itself",
					"group", s.cfg.Group, "topic", s.cfg.Topic, "partition", partition, "err", start.Err)
			}
		default:
			early = &partitionError{partition, fmt.Errorf("find the position: %w", start.Err)}
		}
		delete(starts, partition)
	}
	if early != nil {
		s.cancel(early)
		return nil, early
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, partition := range out {
		s.out[partition] = true
		offsets[s.cfg.Topic][partition] = kgo.NewOffset().At(0)
	}
	s.client.PauseFetchPartitions(map[string][]int32{s.cfg.Topic: out})
	for partition, start := range starts {
		s.seats[partition] = &seat{partition: partition, worker: start.Worker, committed: -1}
		offsets[s.cfg.Topic][partition] = kgo.NewOffset().At(start.Offset)
	}
	s.cfg.Metrics.partitions.WithLabelValues(s.cfg.Group).Set(float64(len(s.seats)))
	return offsets, nil
}

// retry looks now and then whether a partition that was left out can be counted again. Then the session ends, and the next one takes it in.
func (s *session) retry(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		s.sick.settle(now)
		var due []int32
		s.mu.Lock()
		for partition := range s.out {
			if !s.sick.waiting(partition, now) {
				due = append(due, partition)
			}
		}
		s.mu.Unlock()
		if len(due) == 0 {
			continue
		}
		starts, err := s.cfg.Open(ctx, due)
		if err != nil {
			continue // the log as a whole does not answer: the session hears of it too
		}
		for partition, start := range starts {
			if start.Err == nil {
				s.cancel(fmt.Errorf("partition %d: %w", partition, errWell))
				return
			}
			s.sick.failed(partition, start.Err, time.Now())
			if s.sick.speak(partition, time.Now()) {
				s.cfg.Log.Logger.Error("a partition still cannot be counted", "group", s.cfg.Group, "topic", s.cfg.Topic, "partition", partition, "err", start.Err)
			}
		}
	}
}

// revoke is called by the client with the partitions that were taken away; at the end of a generation there may be none.
func (s *session) revoke(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, partition := range gone[s.cfg.Topic] {
		s.let(partition)
		delete(s.out, partition)
	}
	s.cfg.Metrics.partitions.WithLabelValues(s.cfg.Group).Set(float64(len(s.seats)))
}

// let lets the worker of a partition go. s.mu is held.
func (s *session) let(partition int32) {
	if st := s.seats[partition]; st != nil {
		delete(s.seats, partition)
		if c, ok := st.worker.(Closer); ok {
			c.Close()
		}
	}
}

func (s *session) commit(ctx context.Context, wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commitNow(ctx, wait)
}

// commitNow tells the group how far this member is. s.mu is held.
func (s *session) commitNow(ctx context.Context, wait bool) {
	now := time.Now()
	if !wait && now.Sub(s.lastCommit) < commitEvery {
		return
	}
	offsets := map[int32]kgo.EpochOffset{}
	for _, st := range s.seats {
		if position := st.worker.Position(); position != st.committed {
			offsets[st.partition] = kgo.EpochOffset{Epoch: -1, Offset: position}
			st.committed = position
		}
	}
	if len(offsets) == 0 {
		return
	}
	s.lastCommit = now
	topic := map[string]map[int32]kgo.EpochOffset{s.cfg.Topic: offsets}
	if wait {
		s.client.CommitOffsetsSync(ctx, topic, nil)
	} else {
		s.client.CommitOffsets(ctx, topic, nil)
	}
}
