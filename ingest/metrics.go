package ingest

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// origin is where a hit came in: the label source of its metric.
type origin uint8

const (
	sourceEvent origin = iota
	sourceClick
	sourcePixel
	sourceImport

	sourceUmami
	sourceGoatCounter
	sourceGA4
	sourceMatomo
	sourceFathom
	sourceHook
	sourceRedirect
)

// sourceNames are the labels.
var sourceNames = [...]string{sourceEvent: "event", sourceClick: "click", sourcePixel: "pixel", sourceImport: "import", sourceUmami: "umami",
	sourceGoatCounter: "goatcounter", sourceGA4: "ga4", sourceMatomo: "matomo", sourceFathom: "fathom", sourceHook: "hook", sourceRedirect: "redirect"}

type metrics struct {
	hits       [len(sourceNames)]prometheus.Counter // by source
	bots       prometheus.Counter
	dropped    map[reason]prometheus.Counter
	batches    prometheus.Counter
	batchHits  prometheus.Histogram
	appendTime prometheus.Histogram
	retries    prometheus.Counter
	queued     prometheus.Gauge
}

// newMetrics also shows the bounds of the configuration, and how many bytes the large bodies hold that are being read.
func newMetrics(cfg *Config, bodies *atomic.Int64) *metrics {
	hits := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_ingest_hits_total", Help: "Hits committed to the log."}, []string{"source"})
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_ingest_dropped_total", Help: "Hits not taken, by reason."}, []string{"reason"})
	m := &metrics{
		dropped:   map[reason]prometheus.Counter{},
		bots:      prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_ingest_bots_total", Help: "Hits committed to the log and set apart as bots'."}),
		batches:   prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_ingest_batches_total", Help: "Record batches committed."}),
		retries:   prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_ingest_retries_total", Help: "Batches tried again."}),
		queued:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "weir_ingest_queue_bytes", Help: "Encoded hits waiting to be written."}),
		batchHits: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "weir_ingest_batch_hits", Help: "Hits in a committed batch.", Buckets: prometheus.ExponentialBuckets(1, 4, 8)}),
		appendTime: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "weir_ingest_append_seconds", Help: "Time from handing a batch to the log until it is committed.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}),
	}
	bound := prometheus.NewGauge(prometheus.GaugeOpts{Name: "weir_ingest_queue_bound_bytes", Help: "Bound of weir_ingest_queue_bytes."})
	bound.Set(float64(cfg.QueueBytes))
	bodiesBound := prometheus.NewGauge(prometheus.GaugeOpts{Name: "weir_ingest_bodies_bound_bytes", Help: "Bound of weir_ingest_bodies_bytes; beyond it requests are refused with 503 and counted as queue-full."})
	bodiesBound.Set(float64(cfg.BodiesBytes))
	bodiesHeld := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_ingest_bodies_bytes", Help: "Memory held by large request bodies that are being read."},
		func() float64 { return float64(bodies.Load()) })
	for from, name := range sourceNames {
		m.hits[from] = hits.WithLabelValues(name)
	}
	for _, r := range reasons {
		m.dropped[r] = dropped.WithLabelValues(string(r))
	}
	if cfg.Registry != nil {
		cfg.Registry.MustRegister(bodiesHeld, bodiesBound, hits, dropped, m.bots, m.batches, m.retries, m.queued, m.batchHits, m.appendTime, bound)
	}
	return m
}

// committed counts the hits of a batch.
func (m *metrics) committed(hits []entry, took time.Duration) {
	var from [len(sourceNames)]int
	bots := 0
	for i := range hits {
		from[hits[i].source]++
		if hits[i].bot {
			bots++
		}
	}
	for by, n := range from {
		if n > 0 {
			m.hits[by].Add(float64(n))
		}
	}
	m.bots.Add(float64(bots))
	m.batches.Inc()
	m.batchHits.Observe(float64(len(hits)))
	m.appendTime.Observe(took.Seconds())
}
