package wire

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metrics of the connections. Labels: key is the name of a protocol key, reason one of refused's list.
type metrics struct {
	connections   prometheus.Gauge
	refusedTotal  *prometheus.CounterVec
	requestBytes  prometheus.Counter
	responseBytes prometheus.Counter
	panics        prometheus.Counter
	tlsFailed     prometheus.Counter
	seconds       *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_broker_connections", Help: "Kafka connections open now, in-process ones included."}),
		refusedTotal: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_broker_connections_refused_total", Help: "Kafka connections closed at once, by reason."}, []string{"reason"}),
		requestBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_request_bytes_total", Help: "Bytes of Kafka requests read."}),
		responseBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_response_bytes_total", Help: "Bytes of Kafka responses written."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_request_panics_total", Help: "Kafka requests that panicked and cost their connection. Any is a bug."}),
		tlsFailed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_broker_tls_failures_total", Help: "Kafka connections whose TLS handshake failed, such as for want of a client certificate."}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_broker_request_seconds", Help: "Time from the last byte of a request to its answer, long polls included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}}, []string{"key"}),
	}
	for _, reason := range []string{"total", "address", "closed"} {
		m.refusedTotal.WithLabelValues(reason)
	}
	if reg != nil {
		reg.MustRegister(m.connections, m.refusedTotal, m.requestBytes, m.responseBytes, m.panics, m.tlsFailed, m.seconds)
	}
	return m
}

func (m *metrics) refused(err error) {
	reason := "closed"
	switch {
	case errors.Is(err, errTooMany):
		reason = "total"
	case errors.Is(err, errTooManyPerIP):
		reason = "address"
	}
	m.refusedTotal.WithLabelValues(reason).Inc()
}

func (m *metrics) served(key int16, took time.Duration) {
	name := kmsg.NameForKey(key)
	if name == "" || name == "Unknown" {
		name = "unknown"
	}
	m.seconds.WithLabelValues(name).Observe(took.Seconds())
}
