package led

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// Log is the part of a partition that loading needs.
type Log interface {
	// Read returns whole committed batches, the first of which holds the offset or is the next after it, at least one even
	// when larger than maxBytes. Nothing at the high watermark.
	Read(offset int64, maxBytes int) ([]byte, error)
	// LogStart is the first offset that can be read.
	LogStart() int64
	// HighWatermark is the offset after the last committed record.
	HighWatermark() int64
}

// readBytes is how much of the log one step of loading reads, in bytes. A guess: large enough that steps don't count.
const readBytes = 1 << 20

// ReadLog hands the batches of a partition, checked, to take, from its start to the high watermark. It returns the offset after the last
// one, and early without an error when ctx ends.
func ReadLog(ctx context.Context, log Log, take func(record.Batch) error) (next int64, err error) {
	next, end := log.LogStart(), log.HighWatermark()
	for next < end && ctx.Err() == nil {
		data, err := log.Read(next, readBytes)
		if err != nil {
			return 0, fmt.Errorf("read from offset %d: %w", next, err)
		}
		if len(data) == 0 {
			return 0, fmt.Errorf("read from offset %d: nothing there, but the high watermark is %d", next, end)
		}
		for len(data) > 0 {
			var batch record.Batch
			if batch, data, err = record.Parse(data); err != nil {
				return 0, fmt.Errorf("read batch after offset %d: %w", next, err)
			}
			if err = batch.CheckCRC(); err == nil {
				err = take(batch)
			}
			if err != nil {
				return 0, fmt.Errorf("batch at offset %d: %w", batch.BaseOffset, err)
			}
			next = batch.NextOffset()
		}
	}
	return next, nil
}

// UntilLoaded calls read, again and again until that succeeds, and failed with each error and the time until the next try. Then it calls
// what read returned. It returns false, and calls nothing more, when ctx has ended or current, which is asked after each try, says that the
// shard is no longer wanted.
func UntilLoaded(ctx context.Context, current func() bool, read func() (install func(), err error), failed func(err error, wait time.Duration)) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		install, err := read()
		if ctx.Err() != nil || !current() {
			return false
		}
		if err == nil {
			install()
			return true
		}
		failed(err, wait)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}
