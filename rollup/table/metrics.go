package table

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the table.
type Metrics struct {
	records  *prometheus.CounterVec
	foreign  *prometheus.CounterVec
	restarts prometheus.Counter
}

// NewMetrics registers the metrics; registry may be nil.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	window := []string{"window"}
	m := &Metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_table_records_total",
			Help: "Records of cells that the table took in."}, window),
		foreign: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_table_foreign_records_total",
			Help: "Records in the topics of cells that are neither cells nor progress."}, window),
		restarts: prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_rollup_table_restarts_total",
			Help: "Times the table opened a new client of the log after an error."}),
	}
	if registry != nil {
		registry.MustRegister(m.records, m.foreign, m.restarts)
	}
	return m
}
