package txn

import "github.com/prometheus/client_golang/prometheus"

// metrics of the coordinator. Transactional ids are client data and therefore never labels.
type metrics struct {
	begun, expired, late prometheus.Counter
	ended                *prometheus.CounterVec // by outcome: commit, abort, timeout, fenced
	markers              *prometheus.CounterVec // by result: written, failed, gone, superseded, fenced
	writes               *prometheus.CounterVec // by result: ok, failed
	loads                *prometheus.CounterVec // by result: ok, failed
	loadSeconds          prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, c *Coordinator) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_txn_" + name, Help: help})
	}
	vec := func(name, label, help string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_txn_" + name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	m := &metrics{
		begun:   counter("begun_total", "Transactions begun."),
		expired: counter("expired_ids_total", "Transactional ids forgotten because they were not used."),
		late:    counter("late_ends_total", "Ends of transactions that came when the next one was running, and were not applied to it."),
		ended: vec("ended_total", "outcome", "Transactions whose end is decided: commit, abort (by their producer), timeout, fenced (by the next producer).",
			"commit", "abort", "timeout", "fenced"),
		markers: vec("markers_total", "result", "Tries to write a marker: written, failed (tried again), gone (no such partition), superseded (ended by somebody else), fenced (by another coordinator).",
			"written", "failed", "gone", "superseded", "fenced"),
		writes: vec("writes_total", "result", "Batches written to the transaction topic by result: ok, failed.", "ok", "failed"),
		loads:  vec("loads_total", "result", "Loads of a partition of the transaction topic by result: ok, failed.", "ok", "failed"),
		loadSeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_txn_last_load_seconds", Help: "Time that the last load of a partition took.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.begun, m.expired, m.late, m.ended, m.markers, m.writes, m.loads, m.loadSeconds, collector{c})
	}
	return m
}

var (
	idsDesc   = prometheus.NewDesc("weir_txn_ids", "Transactional ids coordinated here by the state of their transaction.", []string{"state"}, nil)
	queueDesc = prometheus.NewDesc("weir_txn_write_queue_bytes", "Records waiting to be written to the transaction topic.", nil, nil)
	boundDesc = prometheus.NewDesc("weir_txn_write_queue_bound_bytes", "Bound of that queue, per partition.", nil, nil)
)

// collector counts transactional ids when it is asked, so that no state change has to.
type collector struct{ c *Coordinator }

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- idsDesc
	ch <- queueDesc
	ch <- boundDesc
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	var byState [len(stateNames)]int
	queued := 0
	for _, s := range c.c.shards.All() {
		s.mu.Lock()
		for _, t := range s.txns {
			byState[t.meta.state]++
		}
		queued += s.queue.Bytes()
		s.mu.Unlock()
	}
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	for st, n := range byState {
		gauge(idsDesc, n, state(st).String())
	}
	gauge(queueDesc, queued)
	gauge(boundDesc, c.c.env.cfg.QueueBytes)
}
