package raftfsm

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	reg      prometheus.Registerer
	all      []prometheus.Collector
	commands *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, c *Controller) *metrics {
	m := &metrics{reg: reg, commands: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_controller_commands_total", Help: "Changes to the cluster state that were asked for, by result.",
	}, []string{"result"})}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	m.all = []prometheus.Collector{
		m.commands,
		gauge("weir_controller_state_version", "Version of the cluster state on this node.", func() float64 { return float64(c.State().Version) }),
		gauge("weir_controller_leading", "1 while this node leads the controller.", func() float64 {
			if c.raft != nil && c.Leading() {
				return 1
			}
			return 0
		}),
	}
	if reg != nil {
		reg.MustRegister(m.all...)
	}
	return m
}

func (m *metrics) unregister() {
	if m.reg == nil {
		return
	}
	for _, c := range m.all {
		m.reg.Unregister(c)
	}
}

func (m *metrics) count(err error) {
	result := "refused"
	switch {
	case err == nil:
		result = "done"
	case errors.Is(err, ErrUnavailable):
		result = "unavailable"
	case errors.Is(err, ErrOutcomeUnknown):
		result = "unknown"
	}
	m.commands.WithLabelValues(result).Inc()
}
