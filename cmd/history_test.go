package cmd

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// sparseLog writes an access log of old days: lines spread evenly over hours, so that hardly two of them share a minute.
func sparseLog(t *testing.T, lines, hours int, until time.Time) string {
	t.Helper()
	var b strings.Builder
	step := time.Duration(hours) * time.Hour / time.Duration(lines)
	at := until.Add(-time.Duration(hours) * time.Hour)
	for i := range lines {
		at = at.Add(step)
		fmt.Fprintf(&b, "81.2.%d.%d - - [%s] \"GET /old/%d HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0\"\n",
			i/250%250, i%250+1, at.UTC().Format("02/Jan/2006:15:04:05 -0700"), i%300)
	}
	file := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestLiveHitsOvertakeImportedHistory imports a log whose lines touch a minute each while another site is visited: each visit is to be
// seen within seconds.
func TestLiveHitsOvertakeImportedHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("imports tens of thousands of lines")
	}
	const lines, hours = 60_000, 7_000
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", "history.example")
	n.Run("", "site", "add", "live.example")
	file := sparseLog(t, lines, hours, time.Now().Add(-24*time.Hour))
	imported := make(chan error, 1)
	began := time.Now()
	go func() {
		_, _, err := n.Try("", "import", "--site", "history.example", file)
		imported <- err
	}()
	var waits []time.Duration
	for i, going := 0, true; going; i++ {
		select {
		case err := <-imported:
			if err != nil {
				t.Fatal(err)
			}
			going = false
		case <-time.After(100 * time.Millisecond):
		}
		waits = append(waits, seen(t, n, fmt.Sprintf("/live/%d", i)))
	}
	took := time.Since(began)
	slices.Sort(waits)
	t.Logf("%d lines counted in %.1f s; %d live hits meanwhile, visible after %v (median), %v (longest)", lines, took.Seconds(), len(waits),
		waits[len(waits)/2], waits[len(waits)-1])
	if len(waits) < 2 {
		t.Error("the import was over before a hit could overtake it: it shows nothing")
	}
	if longest := waits[len(waits)-1]; longest > max(5*time.Second, took/2) { // the second: on a machine that is busy with other things
		t.Errorf("a live hit was visible %v after it was sent, and the import took %v", longest, took)
	}
	if rows := stats(t, n, "history.example").Rows; len(rows) != 1 || rows[0].Hits != lines {
		t.Errorf("history counts %+v, want %d hits", rows, lines)
	}
}

// seen sends a page view and returns how long it took until it was in the counts.
func seen(t *testing.T, n *testkit.Node, page string) time.Duration {
	t.Helper()
	began := time.Now()
	agent := http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"}}
	body := strings.NewReader(fmt.Sprintf(`{"n":"pageview","u":"https://live.example%s","d":"live.example"}`, page))
	if err := demoPost(context.Background(), n.HTTP+"/api/event", "text/plain", agent, body); err != nil {
		t.Fatal(err)
	}
	testkit.Wait(t, "the hit on "+page, 2*time.Minute, func() bool {
		var doc countsDoc
		query := url.Values{"by": {"page"}, "limit": {"100000"}, "last": {"60m"}}
		status, err := n.Admin(http.MethodGet, sitePath("live.example")+"/counts?"+query.Encode(), nil, &doc)
		return err == nil && status == http.StatusOK && slices.ContainsFunc(doc.Rows, func(r countRow) bool { return r.Key == page })
	})
	return time.Since(began)
}
