package txn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// finish writes the markers of a prepared transaction and then that they are written. It implements journal; the lock is held.
func (s *shard) finish(t *txn) {
	m := record.Marker{
		ProducerID: t.meta.id, ProducerEpoch: t.meta.epoch, Commit: t.meta.state == prepareCommit, CoordinatorEpoch: s.epoch,
	}
	targets := t.meta.sorted()
	s.finishing.Go(func() {
		if s.writeMarkers(t.id, m, targets) {
			s.storeComplete(t)
		}
	})
}

// writeMarkers returns true when every partition has the marker or is gone, false when this shard has been given up.
func (s *shard) writeMarkers(id string, m record.Marker, targets []topicPartition) bool {
	var wg sync.WaitGroup
	slots := make(chan struct{}, s.env.cfg.MarkersAtOnce)
	for _, tp := range targets {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s.writeMarker(id, m, tp)
		})
	}
	wg.Wait()
	return s.ctx.Err() == nil
}

const (
	markerRetryMin = 50 * time.Millisecond
	markerRetryMax = 5 * time.Second
)

// writeMarker tries until the partition has the marker, is gone, or the shard is given up.
func (s *shard) writeMarker(id string, m record.Marker, tp topicPartition) {
	for wait := markerRetryMin; ; wait = min(2*wait, markerRetryMax) {
		err := s.env.cfg.Markers.Write(s.ctx, tp.topic, tp.partition, m)
		log := s.log.With("txn", id, "topic", tp.topic, "of", tp.partition, "producer", m.ProducerID, "epoch", m.ProducerEpoch)
		switch {
		case s.ctx.Err() != nil:
			return
		case err == nil:
			s.env.metrics.markers.WithLabelValues("written").Inc()
			return
		case errors.Is(err, ErrNoPartition):
			s.env.metrics.markers.WithLabelValues("gone").Inc()
			log.Info("partition of a transaction is gone, it needs no marker")
			return
		case errors.Is(err, ErrNewerProducer):
			s.env.metrics.markers.WithLabelValues("superseded").Inc()
			log.Warn("transaction was ended in a partition by somebody else", "err", err)
			return
		case errors.Is(err, ErrNewerCoordinator):
			s.env.metrics.markers.WithLabelValues("fenced").Inc()
			log.Warn("another node coordinates the transaction, giving it up", "err", err)
			s.Unload()
			return
		}
		s.env.metrics.markers.WithLabelValues("failed").Inc()
		log.Warn("marker is not written yet, trying again", "wait", wait, "err", err)
		if !sleep(s.ctx, wait) {
			return
		}
	}
}

// storeComplete tries until it is stored that the transaction is complete, or the shard is given up.
func (s *shard) storeComplete(t *txn) {
	for {
		w := led.NewWaiter[error]()
		ok := s.do(func(now time.Time) {
			t.complete(now, func(_ time.Time, err error) { w.Answer(err) })
		})
		if !ok {
			return
		}
		err, answered := w.Await(s.ctx, true)
		if !answered || err == nil || !sleep(s.ctx, retryAfter) {
			return
		}
	}
}

// sleep returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
