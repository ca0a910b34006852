package txn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// readBytes is how much of the log one step of loading reads, in bytes. A guess: large enough that steps don't count.
const readBytes = 1 << 20

// image is what the log of a partition says about its transactional ids.
type image struct {
	txns map[string]metadata
	// skipped counts records of kinds that are not for this coordinator.
	skipped int
}

// loadUntilDone loads the shard, again and again until that succeeds or the shard is no longer wanted. A partition that can't
// be read stays out of service: to serve it would mean to forget who is fenced and what was promised to be committed.
func (s *shard) loadUntilDone(changed func()) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		begin := s.env.cfg.Now()
		img, next, err := s.readLog()
		if s.ctx.Err() != nil || !s.current() {
			return false
		}
		if err == nil {
			s.install(img, next, s.env.cfg.Now().Sub(begin))
			changed()
			return true
		}
		s.env.metrics.loads.WithLabelValues("failed").Inc()
		s.log.Error("can't load transactions, trying again", "topic", StateTopic, "wait", wait, "err", err)
		s.mu.Lock()
		if s.stage == loading {
			s.stage = failedLoad
		}
		s.mu.Unlock()
		changed()
		select {
		case <-s.ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// readLog reads the partition from its start to the high watermark.
func (s *shard) readLog() (*image, int64, error) {
	img := &image{txns: map[string]metadata{}}
	next, end := s.part.LogStart(), s.part.HighWatermark()
	for next < end && s.ctx.Err() == nil {
		data, err := s.part.Read(next, readBytes)
		if err != nil {
			return nil, 0, fmt.Errorf("read from offset %d: %w", next, err)
		}
		if len(data) == 0 {
			return nil, 0, fmt.Errorf("read from offset %d: nothing there, but the high watermark is %d", next, end)
		}
		for len(data) > 0 {
			var batch record.Batch
			if batch, data, err = record.Parse(data); err != nil {
				return nil, 0, fmt.Errorf("read batch after offset %d: %w", next, err)
			}
			if err := img.apply(batch); err != nil {
				return nil, 0, fmt.Errorf("batch at offset %d: %w", batch.BaseOffset, err)
			}
			next = batch.NextOffset()
		}
	}
	return img, next, nil
}

func (img *image) apply(batch record.Batch) error {
	if err := batch.CheckCRC(); err != nil {
		return err
	}
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
	if s.stage == unloaded {
		return
	}
	now := s.env.cfg.Now()
	s.stage, s.next, s.expireAt = loaded, next, now.Add(s.env.cfg.ExpiryEvery)
	unfinished := 0
	for id, m := range img.txns {
		if m.state == dead {
			continue
		}
		t := newTxn(id, s.env, s)
		t.meta, t.stored = m, true
		s.txns[id] = t
		s.wakeBy(t.due())
		if m.state.prepared() {
			unfinished++
			s.finish(t)
		}
	}
	s.env.metrics.loads.WithLabelValues("ok").Inc()
	s.env.metrics.loadSeconds.Set(took.Seconds())
	s.log.Info("transactions loaded", "ids", len(s.txns), "unfinished", unfinished, "offset", next, "skipped", img.skipped, "took", took)
}
