package web

import (
	"io"
	"net/http"

	"github.com/weir-analytics/weir/web/reply"
)

// Check is one part that must work before this node is sent traffic.
type Check struct {
	Name string
	// Ready reports whether the part works and, when not, why. It must not wait.
	Ready func() (ok bool, reason string)
}

// ReadyWhen returns a Check that passes once ch is closed.
func ReadyWhen(name string, ch <-chan struct{}, reason string) Check {
	return Check{Name: name, Ready: func() (bool, string) {
		select {
		case <-ch:
			return true, ""
		default:
			return false, reason
		}
	}}
}

// healthz says that the process answers, and no more: a node that waits for others must not be restarted for it.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n")
}

type checkResult struct {
	Name   string `json:"name"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

// readyz answers 200 when every check passes and the node is not stopping, else 503 with the reasons.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	checks := append([]Check{{"web", s.notStopping}}, s.cfg.Checks...)
	ready, results := true, []checkResult{}
	for _, check := range checks {
		ok, reason := check.Ready()
		ready = ready && ok
		results = append(results, checkResult{check.Name, ok, reason})
	}
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	reply.JSON(w, status, struct {
		Ready  bool          `json:"ready"`
		Checks []checkResult `json:"checks"`
	}{ready, results})
}

func (s *Server) notStopping() (bool, string) {
	select {
	case <-s.stopping:
		return false, "the node is stopping"
	default:
		return true, ""
	}
}
