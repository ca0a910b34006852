package broker

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/api"
)

// metrics of the broker's own producer and of its partitions.
type metrics struct {
	appendedRecords prometheus.Counter
	appends         *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, b *Broker) *metrics {
	m := &metrics{
		appendedRecords: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_local_records_total", Help: "Records committed by the producer within the process."}),
		appends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_broker_local_appends_total", Help: "Batches of the producer within the process, by result."}, []string{"result"}),
	}
	phases := map[string]api.Phase{"closed": api.Closed, "opening": api.Opening, "serving": api.Serving, "failed": api.Failed}
	for _, result := range []string{"committed", "not_written", "unknown"} {
		m.appends.WithLabelValues(result)
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.appendedRecords, m.appends)
	for _, d := range b.engines.logDirs() {
		labels := prometheus.Labels{"directory": d.path}
		reg.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "weir_broker_directory_failed", Help: "1 while a data directory can't be used: its partitions have stopped.", ConstLabels: labels,
			}, func() float64 { return b.directory(d.path, func(d logDir) float64 { return boolGauge(d.err != nil) }) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "weir_broker_directory_usable_bytes", Help: "Free bytes of the disk of a data directory, -1 when they can't be asked.", ConstLabels: labels,
			}, func() float64 { return b.directory(d.path, func(d logDir) float64 { return float64(d.usable) }) }))
	}
	for name, phase := range phases {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "weir_broker_partitions", Help: "Partitions on this node, by phase. Any failed one needs a person.",
			ConstLabels: prometheus.Labels{"phase": name},
		}, func() float64 { return float64(b.count(phase)) }))
	}
	return m
}

func (m *metrics) appended(records int, err error) {
	switch {
	case err == nil:
		m.appendedRecords.Add(float64(records))
		m.appends.WithLabelValues("committed").Inc()
	case notWritten(err):
		m.appends.WithLabelValues("not_written").Inc()
	default:
		m.appends.WithLabelValues("unknown").Inc()
	}
}

// directory is a value of one data directory.
func (b *Broker) directory(path string, value func(logDir) float64) float64 {
	for _, d := range b.engines.logDirs() {
		if d.path == path {
			return value(d)
		}
	}
	return -1
}

func boolGauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (b *Broker) count(phase api.Phase) (n int) {
	for _, t := range b.view.Load().Topics {
		for _, p := range t.Partitions {
			if p.Phase() == phase {
				n++
			}
		}
	}
	return n
}
