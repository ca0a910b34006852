package group

import "github.com/prometheus/client_golang/prometheus"

// metrics of the coordinator. Groups and members are client data and therefore never labels.
type metrics struct {
	rebalances, expiredMembers, expiredOffsets prometheus.Counter
	commits                                    *prometheus.CounterVec // by result: ok, refused, failed
	writes                                     *prometheus.CounterVec // by result: ok, failed
	loads                                      *prometheus.CounterVec // by result: ok, failed
	loadSeconds                                prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, c *Coordinator) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_group_" + name, Help: help})
	}
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_group_" + name, Help: help}, []string{"result"})
	}
	m := &metrics{
		rebalances:     counter("rebalances_total", "Rebalances started."),
		expiredMembers: counter("expired_members_total", "Members removed because their session ended."),
		expiredOffsets: counter("expired_offsets_total", "Offsets found to be older than the retention."),
		commits:        vec("commits_total", "Offset commits by result: ok, refused (by the rules of the group), failed (not stored)."),
		writes:         vec("writes_total", "Batches written to the offsets topic by result: ok, failed."),
		loads:          vec("loads_total", "Loads of a partition of the offsets topic by result: ok, failed."),
		loadSeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_group_last_load_seconds", Help: "Time that the last load of a partition took.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.rebalances, m.expiredMembers, m.expiredOffsets, m.commits, m.writes, m.loads, m.loadSeconds, collector{c})
	}
	return m
}

var (
	groupsDesc  = prometheus.NewDesc("weir_group_groups", "Groups coordinated here by state.", []string{"state"}, nil)
	membersDesc = prometheus.NewDesc("weir_group_members", "Members of the groups coordinated here.", nil, nil)
	queueDesc   = prometheus.NewDesc("weir_group_write_queue_bytes", "Records waiting to be written to the offsets topic.", nil, nil)
	boundDesc   = prometheus.NewDesc("weir_group_write_queue_bound_bytes", "Bound of that queue, per partition.", nil, nil)
)

// collector counts groups when it is asked, so that no state change has to.
type collector struct{ c *Coordinator }

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- groupsDesc
	ch <- membersDesc
	ch <- queueDesc
	ch <- boundDesc
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	var byPhase [dead + 1]int
	members, queued := 0, 0
	for _, s := range c.c.shards.All() {
		s.mu.Lock()
		for _, g := range s.groups {
			byPhase[g.state]++
			members += len(g.members)
		}
		queued += s.queue.Bytes()
		s.mu.Unlock()
	}
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	for p, n := range byPhase {
		gauge(groupsDesc, n, phase(p).String())
	}
	gauge(membersDesc, members)
	gauge(queueDesc, queued)
	gauge(boundDesc, c.c.env.cfg.QueueBytes)
}
