package cmd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	received "github.com/weir-analytics/weir/broker/meter"
	"github.com/weir-analytics/weir/internal/testkit"
)

// What could not be counted is not printed as nothing.
func TestReceivedSaysWhatIsNotKnown(t *testing.T) {
	var b strings.Builder
	printReceived(&b, received.Answer{Ranges: []received.Range{
		{Topic: "orders", From: 0, To: 10, Records: 10, Bytes: 100, Recounted: true},
		{Topic: "orders", From: 10, To: 20, Recounted: true, Unknown: true},
	}})
	want := [][]string{
		{"TOPIC", "PARTITION", "MINUTE", "FROM", "TO", "RECORDS", "BYTES", "NOTE"},
		{"orders", "0", "1970-01-01T00:00Z", "0", "10", "10", "100", "recounted"},
		{"orders", "0", "1970-01-01T00:00Z", "10", "20", "-", "-", "unknown"},
	}
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if got := strings.Fields(line); i >= len(want) || !slices.Equal(got, want[i]) {
			t.Errorf("line %d is %v", i, got)
		}
	}
}

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
