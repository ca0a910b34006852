package web

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/stats"
)

func TestAudit(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	n.rollup.differences = nil
	w := n.do("GET", "/api/v1/sites/example.com/audit?from=2026-01-02&to=2026-01-02", "", by["editor"])
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"done":true`) || !strings.Contains(w.Body.String(), `"differences":[]`) || !strings.Contains(w.Body.String(), `"offsets":{"0":3}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := n.rollup.audited; got.To.Sub(got.From) != 24*time.Hour {
		t.Errorf("asked for %+v", got)
	}
	n.rollup.differences = []stats.Difference{{Unit: zone.Hour, Start: testNow, Report: "page", Key: "/a", Measure: "hits", Counted: 2, Recounted: 1}}
	w = n.do("GET", "/api/v1/sites/example.com/audit", "", by["editor"])
	if !strings.Contains(w.Body.String(), `"report":"page","key":"/a","measure":"hits","counted":2,"recounted":1`) {
		t.Errorf("a difference: %s", w.Body)
	}
	n.rollup.auditErr = errors.New("the log is gone")
	if w = n.do("GET", "/api/v1/sites/example.com/audit", "", by["editor"]); w.Code != 500 {
		t.Errorf("an error: %d %s", w.Code, w.Body)
	}
	for path, code := range map[string]string{"/audit?by=page": "invalid", "/audit?from=x": "invalid"} {
		if w := n.do("GET", "/api/v1/sites/example.com"+path, "", by["editor"]); errorCode(t, w) != code {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := n.do("GET", "/api/v1/sites/example.com/audit", "", by["viewer"]); w.Code != 403 {
		t.Errorf("a viewer: %d", w.Code)
	}
}
