package replica

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/seglog"
)

// Metrics counts what all replicas of a node do together; a nil one counts
// nothing. No label names a topic: a node may have hundreds of partitions.
type Metrics struct {
	storeSeconds  prometheus.Histogram
	storedBytes   prometheus.Counter
	storedEntries prometheus.Counter
	queueBytes    prometheus.Gauge
	refused       *prometheus.CounterVec
	duplicates    prometheus.Counter
	stopped       prometheus.Counter
	damaged       prometheus.Counter
	retiredBytes  prometheus.Counter
	cleanedBytes  prometheus.Counter
	cleanedAway   prometheus.Counter
}

// refusals are the reasons for which a batch is not taken.
var refusals = []struct {
	err    error
	reason string
}{
	{ErrNotLeader, "not_leader"},
	{ErrNotReady, "not_ready"},
	{ErrCorruptBatch, "corrupt_batch"},
	{ErrUnsupportedMagic, "unsupported_magic"},
	{ErrBatchTooLarge, "too_large"},
	{ErrInvalidRecord, "invalid_record"},
	{ErrOutOfOrderSequence, "out_of_order"},
	{ErrInvalidProducerEpoch, "fenced"},
	{ErrInvalidTxnState, "invalid_txn_state"},
	{ErrCoordinatorFenced, "coordinator_fenced"},
	{ErrQueueFull, "queue_full"},
	{ErrDiskFull, "disk_full"},
	{ErrStopped, "stopped"},
	{ErrOutcomeUnknown, "outcome_unknown"},
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		storeSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_broker_store_seconds", Help: "Time to write and sync the entries of one group commit.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12),
		}),
		storedBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_stored_bytes_total", Help: "Bytes of record batches written and synced."}),
		storedEntries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_stored_entries_total", Help: "Raft entries written and synced."}),
		queueBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_broker_queue_bytes", Help: "Bytes of batches queued or under way; each partition has its own bound."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_broker_refused_batches_total", Help: "Batches not taken, by reason."}, []string{"reason"}),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_duplicate_batches_total", Help: "Retries answered with the offset of the first attempt."}),
		stopped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_stopped_partitions_total", Help: "Partitions that stopped because of the disk. Any needs a person."}),
		damaged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_damaged_partitions_total", Help: "Partitions in which a reader came to damaged records. Any needs a person."}),
		cleanedBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_cleaned_bytes_total", Help: "Bytes of record batches that the cleaner of compacted topics has removed."}),
		cleanedAway: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_cleaned_records_total", Help: "Records that the cleaner of compacted topics has removed."}),
		retiredBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_retired_bytes_total", Help: "Bytes of record batches deleted by retention."}),
	}
	for _, r := range refusals {
		m.refused.WithLabelValues(r.reason)
	}
	if reg != nil {
		reg.MustRegister(m.storeSeconds, m.storedBytes, m.storedEntries, m.queueBytes, m.refused, m.duplicates, m.stopped, m.damaged, m.retiredBytes, m.cleanedBytes, m.cleanedAway)
	}
	return m
}

// stored counts one group commit.
func (m *Metrics) stored(entries []seglog.Entry, took time.Duration) {
	if m == nil {
		return
	}
	bytes := 0
	for i := range entries {
		if entries[i].Kind == seglog.KindBatch {
			bytes += len(entries[i].Data)
		}
	}
	m.storeSeconds.Observe(took.Seconds())
	m.storedEntries.Add(float64(len(entries)))
	m.storedBytes.Add(float64(bytes))
}

// held counts bytes that enter the queue, or leave it when negative.
func (m *Metrics) held(bytes int64) {
	if m != nil {
		m.queueBytes.Add(float64(bytes))
	}
}

// answered counts what a batch was answered.
func (m *Metrics) answered(res Appended, err error) {
	if m == nil {
		return
	}
	if err == nil {
		if res.Duplicate {
			m.duplicates.Inc()
		}
		return
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			m.refused.WithLabelValues(r.reason).Inc()
			return
		}
	}
}

// event counts rare things.
func (m *Metrics) event(e Event) {
	if m == nil {
		return
	}
	switch e := e.(type) {
	case Stopped:
		m.stopped.Inc()
	case Damaged:
		m.damaged.Inc()
	case Cleaned:
		m.cleanedBytes.Add(float64(max(0, e.BytesBefore-e.BytesAfter)))
		m.cleanedAway.Add(float64(e.Removed))
	case Log:
		if e, ok := e.Event.(seglog.Retired); ok {
			m.retiredBytes.Add(float64(e.Bytes))
		}
	}
}
