package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weir-analytics/weir/web/auth"
)

// metrics are what this room counts. Labels come from fixed lists: the patterns of routes, never paths.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, conns *boundedListener, streams func() int64) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_web_requests_total",
			Help: "Requests answered, without those that collect hits."}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_web_request_seconds", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
			Help: "Time to answer a request, without those that collect hits and live streams."}, []string{"route"}),
	}
	all := []prometheus.Collector{m.requests, m.seconds,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_web_connections", Help: "Open TCP connections."}, func() float64 { return float64(conns.open()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_web_connections_bound", Help: "Most TCP connections that may be open; more wait."}, func() float64 { return float64(conns.bound()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_web_live_streams", Help: "Open live streams."}, func() float64 { return float64(streams()) }),
	}
	var errs []error
	for _, c := range all {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// measure counts requests by the pattern of their route.
func (s *Server) measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(wrapped, r)
		pattern := chi.RouteContext(r.Context()).RoutePattern()
		s.metrics.requests.WithLabelValues(pattern, methodLabel(r.Method), strconv.Itoa(wrapped.Status())).Inc()
		if wrapped.Header().Get("Content-Type") != "text/event-stream" {
			s.metrics.seconds.WithLabelValues(pattern).Observe(time.Since(began).Seconds())
		}
	})
}

// methodLabel keeps made-up methods out of the labels.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// metricsRoute answers GET /metrics. How much traffic a site has is not for everybody: direct callers on this machine get it as they are,
// all others as for counts.
func (s *Server) metricsRoute() http.HandlerFunc {
	answer := promhttp.HandlerFor(s.cfg.Registry, promhttp.HandlerOpts{}).ServeHTTP
	guarded := s.auth.Require(auth.Read, answer)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" && s.cfg.Client(r).Direct {
			answer(w, r)
			return
		}
		guarded(w, r)
	}
}
