package txn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// image is what the log of a partition says about its transactional ids.
type image struct {
	txns map[string]metadata
	// skipped counts records of kinds that are not for this coordinator.
	skipped int
}

// loadUntilDone loads the shard, again and again until that succeeds or the shard is no longer wanted. A partition that can't
// be read stays out of service: to serve it would mean to forget who is fenced and what was promised to be committed.
func (s *shard) loadUntilDone(changed func()) bool {
	read := func() (func(), error) {
		begin := s.env.cfg.Now()
		img := newImage()
		next, err := led.ReadLog(s.ctx, s.part, img.apply)
		return func() {
			s.install(img, next, s.env.cfg.Now().Sub(begin))
			changed()
		}, err
	}
	return led.UntilLoaded(s.ctx, s.Current, read, func(err error, wait time.Duration) {
		s.env.metrics.loads.WithLabelValues("failed").Inc()
		s.log.Error("can't load transactions, trying again", "topic", StateTopic, "wait", wait, "err", err)
		s.mu.Lock()
		if s.stage == led.Loading {
			s.stage = led.Failed
		}
		s.mu.Unlock()
		changed()
	})
}

func newImage() *image { return &image{txns: map[string]metadata{}} }

func (img *image) apply(batch record.Batch) error {
	if batch.Control() {
		return nil
	}
	return record.ForEach(batch.Raw, func(r record.Record) error {
		if err := img.applyRecord(r); err != nil {
			return fmt.Errorf("record %d: %w", batch.BaseOffset+int64(r.OffsetDelta), err)
		}
		return nil
	})
}

// applyRecord takes one record in; the last one with a key counts.
func (img *image) applyRecord(r record.Record) error {
	id, err := parseKey(r.Key)
	if errors.Is(err, errSkip) {
		img.skipped++
		return nil
	}
	if err != nil {
		return err
	}
	if r.Value == nil {
		delete(img.txns, id)
		return nil
	}
	m, err := parseValue(r.Value)
	if err != nil {
		return err
	}
	img.txns[strings.Clone(id)] = m
	return nil
}

// install makes transactions of the image, begins to serve and goes on with those whose end is decided.
func (s *shard) install(img *image, next int64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == led.Unloaded {
		return
	}
	now := s.env.cfg.Now()
	s.stage, s.next = led.Loaded, next
	s.alarm.Expire(now)
	unfinished := 0
	for id, m := range img.txns {
		if m.state == dead {
			continue
		}
		t := newTxn(id, s.env, s)
		t.meta, t.stored = m, true
		s.txns[id] = t
		s.alarm.WakeBy(t.due())
		if m.state.prepared() {
			unfinished++
			s.finish(t)
		}
	}
	s.env.metrics.loads.WithLabelValues("ok").Inc()
	s.env.metrics.loadSeconds.Set(took.Seconds())
	s.log.Info("transactions loaded", "ids", len(s.txns), "unfinished", unfinished, "offset", next, "skipped", img.skipped, "took", took)
}
