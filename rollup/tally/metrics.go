package tally

import "github.com/prometheus/client_golang/prometheus"

// Metrics of all partitions that a node tallies.
type Metrics struct {
	counted  prometheus.Counter
	setApart *prometheus.CounterVec
	late     prometheus.Counter
	gaps     prometheus.Counter
}

// Reasons for which a hit is not counted.
const (
	apartRepeat  = "repeat"
	apartGarbage = "not_a_hit"
	apartFuture  = "future"
	apartAncient = "ancient"
	apartSite    = "no_such_site"
	apartNoHit   = "engagement" // time and scroll depth of an earlier hit, and none itself
)

// NewMetrics registers the metrics; registry may be nil.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		counted: prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_rollup_hits_counted_total",
			Help: "Hits that were added to the counts."}),
		setApart: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_rollup_hits_set_apart_total",
			Help: "Records of events that were not counted, by reason."}, []string{"reason"}),
		late: prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_rollup_hits_late_total",
			Help: "Hits counted that were received more than an hour after they happened, as imported ones are."}),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_rollup_events_lost_to_retention_total",
			Help: "Events deleted by retention before they were counted."}),
	}
	for _, reason := range []string{apartRepeat, apartGarbage, apartFuture, apartAncient, apartSite, apartNoHit} {
		m.setApart.WithLabelValues(reason)
	}
	if registry != nil {
		registry.MustRegister(m.counted, m.setApart, m.late, m.gaps)
	}
	return m
}
