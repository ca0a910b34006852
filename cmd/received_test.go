package cmd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// What was received is counted once, whether the node was stopped or killed in between, and the ranges join up.
func TestReceivedAcrossAStopAndAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the end of a minute")
	}
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "orders")
	n.Run("a\nb\nc\n", "produce", "orders")
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	n.Restart()
	n.Run("d\ne\n", "produce", "orders")
	n.Kill()
	n.Restart()
	n.Run("f\n", "produce", "orders")
	var doc struct {
		Ranges []struct {
			From, To, Records, Bytes int64
			Recounted                bool
		}
		Faults []any
	}
	testkit.Wait(t, "the end of a minute", 90*time.Second, func() bool {
		if err := json.Unmarshal([]byte(n.Run("", "received", "orders", "--json")), &doc); err != nil {
			t.Fatal(err)
		}
		return len(doc.Ranges) > 1 && doc.Ranges[len(doc.Ranges)-1].To == 6
	})
	records, at := int64(0), int64(0)
	for _, r := range doc.Ranges {
		if r.From != at || r.Records != r.To-r.From || r.Bytes == 0 {
			t.Errorf("range %+v after offset %d", r, at)
		}
		records, at = records+r.Records, r.To
	}
	if records != 6 || len(doc.Faults) > 0 || doc.Ranges[0].Recounted || !doc.Ranges[1].Recounted {
		t.Errorf("got %+v", doc)
	}
	if out := n.Run("", "consume", "broker.received"); !strings.Contains(out, `"topic":"orders"`) || strings.Contains(out, `"value":{"topic":"broker.received"`) {
		t.Errorf("the topic holds\n%s", out)
	}
}
