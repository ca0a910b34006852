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
