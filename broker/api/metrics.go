package api

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
)

// metrics of records in and out. The label error is a name of the protocol's own list.
type metrics struct {
	producedBytes, producedRecords prometheus.Counter
	produceErrors                  *prometheus.CounterVec
	fetchedBytes, fetchedRecords   prometheus.Counter
	fetchErrors                    *prometheus.CounterVec
	sessions, sessionPartitions    prometheus.Gauge
	sessionsEvicted                prometheus.Counter
	denied                         *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	byError := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"error"})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		producedBytes:   counter("weir_broker_produced_bytes_total", "Bytes of record batches committed through the Kafka listener."),
		producedRecords: counter("weir_broker_produced_records_total", "Records committed through the Kafka listener."),
		produceErrors:   byError("weir_broker_produce_refused_total", "Record batches not acknowledged, by error."),
		fetchedBytes:    counter("weir_broker_fetched_bytes_total", "Bytes of record batches sent to consumers."),
		fetchedRecords:  counter("weir_broker_fetched_records_total", "Records sent to consumers, those before the asked offset in a batch included."),
		fetchErrors:     byError("weir_broker_fetch_refused_total", "Partitions answered with an error to a fetch, by error."),
		denied:          newDenied(),

		sessions:          gauge("weir_broker_fetch_sessions", "Fetch sessions kept for clients."),
		sessionPartitions: gauge("weir_broker_fetch_session_partitions", "Partitions in all fetch sessions."),
		sessionsEvicted:   counter("weir_broker_fetch_sessions_evicted_total", "Fetch sessions dropped to make room for others."),
	}
	if reg != nil {
		reg.MustRegister(m.producedBytes, m.producedRecords, m.produceErrors, m.fetchedBytes, m.fetchedRecords, m.fetchErrors, m.denied,
			m.sessions, m.sessionPartitions, m.sessionsEvicted)
	}
	return m
}

func (m *metrics) produced(a *appending, err error) {
	if err != nil {
		m.produceErrors.WithLabelValues(errorName(err)).Inc()
		return
	}
	m.producedBytes.Add(float64(a.bytes))
	m.producedRecords.Add(float64(a.records))
}

func (m *metrics) fetched(p *poll) {
	records := 0
	for i := range p.parts {
		records += p.parts[i].records
		if err := p.parts[i].err; err != nil {
			m.fetchErrors.WithLabelValues(errorName(err)).Inc()
		}
	}
	m.fetchedBytes.Add(float64(p.bytes))
	m.fetchedRecords.Add(float64(records))
}

func errorName(err error) string {
	return kerr.TypedErrorForCode(code(err)).Message
}
