package cmd

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/internal/testkit"
)

// After kills under load, and while hits come in, the audit of each site finds what is counted in the raw log, row by row.
func TestAnAuditAfterKillsFindsNoDifference(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process for seconds")
	}
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", crashSite)
	n.Run("", "site", "add", crashLinks, "--timezone", "Asia/Kolkata")
	singles := []*sender{{name: "s0", keys: map[string]int64{}}, {name: "s1", keys: map[string]int64{}}}
	batches := []*sender{{name: "b0", keys: map[string]int64{}}}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 2 {
		sendUntilKilled(t, n, rng, singles, batches)
		n.Restart()
		for _, site := range []string{crashSite, crashLinks} {
			out, errOut, err := n.Try("", "audit", site)
			if err != nil || !strings.Contains(out, "nothing differs") {
				t.Errorf("audit %s: %v\n%s%s", site, err, out, errOut)
			}
		}
	}
	if out := n.Run("", "audit", crashSite, "--period", "today", "--json"); !strings.Contains(out, `"differences":[]`) {
		t.Errorf("--json: %s", out)
	}
	if out := n.Run("", "audit", crashSite, "2001-01-01"); !strings.Contains(out, "0 hits") || !strings.Contains(out, "nothing differs") {
		t.Errorf("a day without hits: %s", out)
	}
	for _, bad := range [][]string{{"audit", "unknown.example"}, {"audit", crashSite, "yesterday-ish"}, {"audit", crashSite, "2025-01-01", "--last", "2h"}, {"audit"}} {
		if out, errOut, err := n.Try("", bad...); err == nil || errOut == "" {
			t.Errorf("%v: %s", bad, out)
		}
	}
}
