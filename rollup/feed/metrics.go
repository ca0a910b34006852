package feed

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of all feeds of a node.
type Metrics struct {
	records    *prometheus.CounterVec
	published  *prometheus.CounterVec
	flushes    *prometheus.HistogramVec
	restarts   *prometheus.CounterVec
	partitions *prometheus.GaugeVec
}

// NewMetrics registers the metrics; registry may be nil.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	group := []string{"group"}
	m := &Metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_records_read_total",
			Help: "Records taken in by a counting group."}, group),
		published: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_records_published_total",
			Help: "Records committed by a counting group."}, group),
		flushes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_rollup_flush_seconds",
			Help: "Time from encoding a flush to its commit.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}, group),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_restarts_total",
			Help: "Times a counting group dropped what it held in memory and started over from the log."}, group),
		partitions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_rollup_partitions",
			Help: "Partitions that this node counts."}, group),
	}
	if registry != nil {
		registry.MustRegister(m.records, m.published, m.flushes, m.restarts, m.partitions)
	}
	return m
}

func (m *Metrics) observeFlush(group string, records int, took time.Duration) {
	m.published.WithLabelValues(group).Add(float64(records))
	m.flushes.WithLabelValues(group).Observe(max(took, 0).Seconds())
}
