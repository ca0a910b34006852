package fold

import "github.com/prometheus/client_golang/prometheus"

// Metrics of all folds of a node.
type Metrics struct {
	cells    *prometheus.CounterVec
	loaded   *prometheus.CounterVec
	late     *prometheus.CounterVec
	skipped  *prometheus.CounterVec
	memory   *prometheus.GaugeVec
	lostRuns *prometheus.CounterVec
}

// Reasons for which a delta is not folded.
const (
	skippedGarbage = "not_a_delta"
	skippedSite    = "no_such_site"
	skippedRepeat  = "range_folded_already"
)

// NewMetrics registers the metrics; registry may be nil.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	window := []string{"window"}
	m := &Metrics{
		cells: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_cells_published_total",
			Help: "Records of cells that folds published."}, window),
		loaded: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_cells_loaded_total",
			Help: "Cells that folds looked up in the table because they were not in memory."}, window),
		late: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_deltas_late_total",
			Help: "Deltas for windows behind the ring."}, window),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_deltas_skipped_total",
			Help: "Deltas that were not folded, by reason."}, []string{"window", "reason"}),
		memory: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_rollup_ring_bytes",
			Help: "Memory of the windows that folds hold, about."}, []string{"window", "partition"}),
		lostRuns: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_deltas_lost_to_retention_total",
			Help: "Deltas deleted by retention before they were folded."}, window),
	}
	if registry != nil {
		registry.MustRegister(m.cells, m.loaded, m.late, m.skipped, m.memory, m.lostRuns)
	}
	return m
}
