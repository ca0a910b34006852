package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest"
)

// Append implements ingest.Appender. The records may become more than one batch, in their order; base plus their number is the offset after
// the last one. They are written by an idempotent producer with acks=all: on return they are as durable as the cluster makes them
// (min.insync.replicas).
//
// The bytes are copied: the client may go on trying after ctx has ended, and the outcome is unknown then.
func (l *Log) Append(ctx context.Context, topic string, partition int32, recs []ingest.Record) (base int64, err error) {
	if len(recs) == 0 {
		return 0, errors.New("BUG: nothing to append")
	}
	if l.Partitions(topic) == 0 {
		return 0, fmt.Errorf("%w: the topics of the Kafka cluster are not known yet", ingest.ErrNotWritten)
	}
	list := copies(topic, partition, recs)
	o := outcome{left: len(list), done: make(chan struct{})}
	for i := range list {
		l.client.Produce(ctx, &list[i], o.promise)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: the Kafka cluster has not answered in time: %w", ingest.ErrOutcomeUnknown, context.Cause(ctx))
	}
	switch {
	case o.failed == 0:
		return o.last - int64(len(list)) + 1, nil
	case o.failed == len(list) && o.refused == len(list):
		return 0, fmt.Errorf("%w: %w", ingest.ErrNotWritten, o.err)
	}
	return 0, fmt.Errorf("%w: %w", ingest.ErrOutcomeUnknown, o.err)
}

// outcome is what has become of the records of one append. The client calls promise from one goroutine at a time.
type outcome struct {
	left, failed, refused int
	last                  int64 // offset
	err                   error
	done                  chan struct{}
}

func (o *outcome) promise(r *kgo.Record, err error) {
	if err == nil {
		o.last = r.Offset
	} else {
		o.failed++
		if refused(err) {
			o.refused++
		}
		o.err = err
	}
	if o.left--; o.left == 0 {
		close(o.done)
	}
}

// refused reports whether an error says that the record was not written, at no try: the cluster refuses what it is, whenever it comes.
func refused(err error) bool {
	for _, certain := range []error{kgo.ErrMaxBuffered, kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp,
		kerr.UnsupportedForMessageFormat, kerr.UnsupportedCompressionType} {
		if errors.Is(err, certain) {
			return true
		}
	}
	return false
}

// copies are records for the client, with bytes of their own.
func copies(topic string, partition int32, recs []ingest.Record) []kgo.Record {
	size := 0
	for _, r := range recs {
		size += len(r.Key) + len(r.Value)
	}
	bytes := make([]byte, 0, size)
	keep := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(bytes)
		bytes = append(bytes, b...)
		return bytes[from:len(bytes):len(bytes)]
	}
	list := make([]kgo.Record, len(recs))
	for i, r := range recs {
		list[i] = kgo.Record{Topic: topic, Partition: partition, Key: keep(r.Key), Value: keep(r.Value), Timestamp: time.UnixMilli(r.TimestampMs)}
	}
	return list
}
