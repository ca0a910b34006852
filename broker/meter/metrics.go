package meter

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	ranges    prometheus.Counter
	recounted prometheus.Counter
	failed    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		ranges: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_received_written_total", Help: "Records written to broker.received."}),
		recounted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_received_recounted_total", Help: "Ranges of broker.received that were counted in the log, after a start or a change of leader."}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_received_failed_total", Help: "Writes to broker.received that failed and were tried again."}),
	}
	if reg != nil {
		reg.MustRegister(m.ranges, m.recounted, m.failed)
	}
	return m
}
