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
}

// quotaSet is the rules made of one list.
type quotaSet struct {
	list  []state.Quota
	rules *quota.Rules
}

func newQuotas(reg prometheus.Registerer) *quotas {
	q := &quotas{meter: quota.NewMeter(), throttled: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_broker_throttled_total", Help: "Requests of Kafka clients after which their connection was not read for a while, by kind of quota."}, []string{"quota"})}
	for _, key := range []string{state.QuotaProduce, state.QuotaFetch} {
		q.throttled.WithLabelValues(key)
	}
	if reg != nil {
		reg.MustRegister(q.throttled)
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

// charge counts bytes for who asks. When that is more than a quota allows it stops reading from the connection, and returns for how long,
// which the answer says and does not wait for. 0 bytes only ask.
func (h *Handler) charge(req *wire.Request, key string, bytes int) time.Duration {
	list := h.backend.Access().State().Quotas
	if len(list) == 0 || req.Client.Local {
		return 0
	}
	user := strings.TrimPrefix(req.Client.Principal, "User:")
	wait := h.quotas.meter.Add(h.cfg.Now(), h.quotas.current(list), key, user, req.Client.ID, float64(bytes))
	if wait = wait.Truncate(time.Millisecond); wait > 0 {
		h.quotas.throttled.WithLabelValues(key).Inc()
		req.Client.Session.Mute(wait)
	}
	return wait
}

// sayThrottled writes how long a connection is not read into an answer of Fetch, which begins with that in every version served.
func sayThrottled(body net.Buffers, wait time.Duration) {
	if wait > 0 {
		binary.BigEndian.PutUint32(body[0], uint32(wait.Milliseconds()))
	}
}
