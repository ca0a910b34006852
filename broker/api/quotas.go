package api

import (
	"encoding/binary"
	"net"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/quota"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// quotas measures what clients use and holds them to their limits.
type quotas struct {
	meter     *quota.Meter
	rules     atomic.Pointer[quotaSet]
	throttled *prometheus.CounterVec
	waiting   *prometheus.CounterVec
}

// quotaSet is the rules made of one list.
type quotaSet struct {
	list  []state.Quota
	rules *quota.Rules
}

func newQuotas(reg prometheus.Registerer) *quotas {
	q := &quotas{meter: quota.NewMeter(), throttled: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_broker_throttled_total", Help: "Requests of Kafka clients after which their connection was not read for a while, by kind of quota."}, []string{"quota"}),
		waiting: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_broker_throttled_seconds_total", Help: "For how long Kafka clients were told to wait, by kind of quota."}, []string{"quota"})}
	for _, key := range []string{state.QuotaProduce, state.QuotaFetch, state.QuotaRequest} {
		q.throttled.WithLabelValues(key)
		q.waiting.WithLabelValues(key)
	}
	if reg != nil {
		reg.MustRegister(q.throttled, q.waiting)
	}
	return q
}

// current are the rules of the cluster's list. A list is never changed, so that its place in memory tells it from others.
func (q *quotas) current(list []state.Quota) *quota.Rules {
	if made := q.rules.Load(); made != nil && len(made.list) == len(list) && unsafe.SliceData(made.list) == unsafe.SliceData(list) {
		return made.rules
	}
	made := &quotaSet{list: list, rules: quota.NewRules(list)}
	q.rules.Store(made)
	return made.rules
}

// longestForTime bounds how long a client is left alone for its requests' time: one window of one second, as in Kafka.
const longestForTime = time.Second

// limits returns the cluster's limits and who it is that asks; ok is false when there are none for it.
func (h *Handler) limits(req *wire.Request) (rules *quota.Rules, who quota.Client, ok bool) {
	list := h.backend.Access().State().Quotas
	if len(list) == 0 || req.Client.Local || req.Client.Principal == "" {
		return nil, who, false
	}
	return h.quotas.current(list), quota.Client{User: strings.TrimPrefix(req.Client.Principal, "User:"), ID: req.Client.ID}, true
}

// charge counts bytes for who asks. When that is more than a quota allows it stops reading from the connection, and returns for how long,
// which the answer says and does not wait for.
func (h *Handler) charge(req *wire.Request, key string, bytes int) time.Duration {
	rules, who, ok := h.limits(req)
	if !ok {
		return 0
	}
	return h.throttle(req, key, h.quotas.meter.Add(h.cfg.Now(), rules, key, who, float64(bytes)))
}

// take is charge for what can still be withheld: it counts only what the quota allows.
func (h *Handler) take(req *wire.Request, key string, bytes int) time.Duration {
	rules, who, ok := h.limits(req)
	if !ok {
		return 0
	}
	return h.throttle(req, key, h.quotas.meter.Take(h.cfg.Now(), rules, key, who, float64(bytes)))
}

// left returns how much of most a quota allows now.
func (h *Handler) left(req *wire.Request, key string, most int) int {
	rules, who, ok := h.limits(req)
	if !ok {
		return most
	}
	return int(h.quotas.meter.Left(h.cfg.Now(), rules, key, who, float64(most)))
}

// throttle leaves a connection alone for a while, in whole milliseconds.
func (h *Handler) throttle(req *wire.Request, key string, wait time.Duration) time.Duration {
	if wait = (wait + time.Millisecond - 1).Truncate(time.Millisecond); wait > 0 {
		h.quotas.throttled.WithLabelValues(key).Inc()
		h.quotas.waiting.WithLabelValues(key).Add(wait.Seconds())
		req.Client.Session.Mute(wait)
	}
	return wait
}

// timing measures what serving one request takes of the processor, for who has a quota of that; nil for all others.
type timing struct {
	h     *Handler
	req   *wire.Request
	watch *quota.Stopwatch
}

// time starts to measure. Every path that follows calls stop.
func (h *Handler) time(req *wire.Request) *timing {
	rules, who, ok := h.limits(req)
	if !ok || !rules.Limited(state.QuotaRequest, who) {
		return nil
	}
	return &timing{h: h, req: req, watch: quota.Start()}
}

func (t *timing) stop() {
	if t != nil {
		t.watch.Stop()
	}
}

// charge counts the time since the last call, in percent of a core for a second.
func (t *timing) charge() time.Duration {
	if t == nil {
		return 0
	}
	rules, who, ok := t.h.limits(t.req)
	if !ok {
		return 0
	}
	wait := t.h.quotas.meter.Add(t.h.cfg.Now(), rules, state.QuotaRequest, who, 100*t.watch.Lap().Seconds())
	return t.h.throttle(t.req, state.QuotaRequest, min(wait, longestForTime))
}

// sayThrottled writes how long a connection is not read into an answer of Fetch, which begins with that in every version served.
func sayThrottled(body net.Buffers, wait time.Duration) {
	if wait > 0 {
		binary.BigEndian.PutUint32(body[0], uint32(wait.Milliseconds()))
	}
}
