package cmd

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

const (
	crashSite  = "crash.example"
	crashLinks = "links.example"
)

// sender sends hits that each have an id of their own, one after the other, and knows which were acknowledged. What was not is sent again under
// its id after the restart, as a careful client does.
type sender struct {
	name    string
	next    int
	pending []string         // bodies that were sent and not acknowledged
	keys    map[string]int64 // how often each page or link was sent
	acked   int
}

// keysOf is how many pages or links a sender has: few enough that each gets a row of its own, however long the test runs.
const keysOf = 300

// batchOf is how many clicks a sender of batches puts into one request.
const batchOf = 40

// body makes the next request.
func (s *sender) body(batch bool) string {
	if !batch {
		s.next++
		page := fmt.Sprintf("/%s/%d", s.name, s.next%keysOf)
		s.keys[page]++
		return fmt.Sprintf(`{"n":"pageview","u":"https://%s%s","d":"%s","id":"%s-%d"}`, crashSite, page, crashSite, s.name, s.next)
	}
	var b strings.Builder
	for range batchOf {
		s.next++
		link := fmt.Sprintf("%s-%d", s.name, s.next%keysOf)
		s.keys[link]++
		fmt.Fprintf(&b, `{"id":"%s-id-%d","ts":"%s","link":"%s","site":"%s","ip":"81.2.69.%d","ua":"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"}`+"\n",
			s.name, s.next, time.Now().UTC().Format(time.RFC3339Nano), link, crashLinks, 1+s.next%200)
	}
	return b.String()
}

func (s *sender) send(ctx context.Context, client *http.Client, base, body string) bool {
	path, contentType := "/api/event", "text/plain"
	if strings.Contains(body, `"link"`) {
		path, contentType = "/api/clicks", "application/x-ndjson"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0")
	if path == "/api/event" { // clicks carry their addresses; a forwarding header would ask for a token
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("81.2.69.%d", 1+crc32.ChecksumIEEE([]byte(body))%200)) // the same for a repeat
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode == http.StatusAccepted
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context, base string, batch bool) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	again := s.pending
	s.pending = nil
	for _, body := range again {
		if !s.send(ctx, client, base, body) {
			s.pending = append(s.pending, body)
		} else {
			s.acked++
		}
	}
	for ctx.Err() == nil {
		body := s.body(batch)
		if s.send(ctx, client, base, body) {
			s.acked++
		} else {
			s.pending = append(s.pending, body)
		}
	}
}

// killRounds is how many times TestKillUnderLoad kills: few here, ten in make crash.
func killRounds(t *testing.T) int {
	if s := os.Getenv("WEIR_CRASH_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("WEIR_CRASH_ROUNDS is %q, want a number from 1 on", s)
		}
		return n
	}
	return 2
}

// Everything that was acknowledged is counted once after kill -9 under load, and what was not acknowledged at most once, or once after it was
// sent again.
func TestKillUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process for seconds")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", crashSite)
	n.Run("", "site", "add", crashLinks, "--timezone", "Europe/Berlin")
	var singles, batches []*sender
	for i := range 6 {
		singles = append(singles, &sender{name: fmt.Sprintf("s%d", i), keys: map[string]int64{}})
	}
	for i := range 2 {
		batches = append(batches, &sender{name: fmt.Sprintf("b%d", i), keys: map[string]int64{}})
	}
	for round := range killRounds(t) {
		sendUntilKilled(t, n, rng, singles, batches)
		n.Restart()
		t.Logf("round %d: %d hits sent one by one", round+1, sum(singles, func(s *sender) int { return s.next }))
	}
	for _, s := range append(singles, batches...) { // the careful client's last word
		ctx, cancel := context.WithCancel(t.Context())
		client := &http.Client{Timeout: 10 * time.Second}
		for _, body := range s.pending {
			if !s.send(ctx, client, n.HTTP, body) {
				t.Errorf("a hit is still not taken: %.120s", body)
			}
		}
		s.pending = nil
		cancel()
	}
	checkOnce(t, n, crashSite, "page", singles)
	checkOnce(t, n, crashLinks, "link", batches)
}

// sendUntilKilled lets the senders send for a random while, kills the node and waits for the senders.
func sendUntilKilled(t *testing.T, n *testkit.Node, rng *rand.Rand, singles, batches []*sender) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, s := range singles {
		wg.Go(func() { s.run(ctx, n.HTTP, false) })
	}
	for _, s := range batches {
		wg.Go(func() { s.run(ctx, n.HTTP, true) })
	}
	<-time.After(300*time.Millisecond + time.Duration(rng.Int64N(int64(1500*time.Millisecond))))
	n.Kill()
	cancel()
	wg.Wait()
	if acked := sum(append(singles, batches...), func(s *sender) int { return s.acked }); acked == 0 {
		t.Fatal("nothing was acknowledged: the load is no load")
	}
}

func sum(all []*sender, of func(*sender) int) (n int) {
	for _, s := range all {
		n += of(s)
	}
	return n
}

// checkOnce waits until everything is counted and checks that each page or link is counted as often as it was sent.
func checkOnce(t *testing.T, n *testkit.Node, site, by string, senders []*sender) {
	t.Helper()
	want := map[string]int64{}
	var all int64
	for _, s := range senders {
		for key, times := range s.keys {
			want[key] = times
			all += times
		}
	}
	counted := func() (sum int64) {
		doc := stats(t, n, site)
		for _, r := range doc.Rows {
			sum += r.Hits
		}
		if len(doc.Rows) == 0 {
			t.Errorf("a node that is ready answers %+v for %s, as if it never had a hit", doc, site)
		}
		return sum
	}
	defer func() {
		if t.Failed() {
			t.Logf("%s: %d hits are counted of %d\n%s", site, counted(), all, n.Run("", "groups", "list"))
		}
	}()
	testkit.Wait(t, fmt.Sprintf("%d hits of %s to be counted", all, site), 2*time.Minute, func() bool { return counted() >= all })
	equal(t, site+" by "+by, column(stats(t, n, site, "--by", by).Rows, rowKey, hits), want)
	if got := counted(); got != all {
		t.Errorf("%s: %d hits are counted, want %d", site, got, all)
	}
}

// SIGTERM under load: the process ends by itself with success, and everything that was acknowledged is there afterwards.
func TestCleanStopUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a process for seconds")
	}
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", crashSite)
	s := &sender{name: "t", keys: map[string]int64{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(ctx, n.HTTP, false)
	}()
	<-time.After(500 * time.Millisecond)
	if err := n.Stop(10 * time.Second); err != nil {
		t.Errorf("the process ended with %v\n%s", err, n.Log())
	}
	cancel()
	<-done
	n.Restart()
	for _, body := range s.pending {
		if !s.send(t.Context(), http.DefaultClient, n.HTTP, body) {
			t.Errorf("a hit is not taken after the restart: %s", body)
		}
	}
	checkOnce(t, n, crashSite, "page", []*sender{s})
}

// What strangers send is answered, and the process goes on.
func TestBadRequestsAreAnsweredAndHarmless(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", crashSite)
	good := `{"n":"pageview","u":"https://crash.example/","d":"crash.example"}`
	for _, c := range []struct {
		name, path, contentType string
		body                    []byte
		status                  []int
	}{
		{"cut JSON", "/api/event", "text/plain", []byte(good[:30]), []int{400}},
		{"no body", "/api/event", "text/plain", nil, []int{400}},
		{"10 MB", "/api/event", "text/plain", bytes.Repeat([]byte("a"), 10<<20), []int{413}},
		{"unknown site", "/api/event", "text/plain", []byte(strings.ReplaceAll(good, "crash.", "unknown.")), []int{400}},
		{"no UTF-8", "/api/event", "text/plain", []byte("{\"n\":\"\xff\xfe\",\"u\":\"https://crash.example/\",\"d\":\"crash.example\"}"), []int{202, 400}},
		{"wrong type", "/api/event", "image/png", []byte("\x89PNG"), []int{400, 415}},
		{"deep JSON", "/api/event", "application/json", bytes.Repeat([]byte("["), 100_000), []int{400}},
		{"clicks that are none", "/api/clicks", "application/x-ndjson", []byte("nope\n{}\n"), []int{400}},
		{"good", "/api/event", "text/plain", []byte(good), []int{202}},
	} {
		res, err := http.Post(n.HTTP+c.path, c.contentType, bytes.NewReader(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		ok := false
		for _, s := range c.status {
			ok = ok || res.StatusCode == s
		}
		if !ok || res.StatusCode >= 400 && len(answer) == 0 {
			t.Errorf("%s: %d %q, want %v and a reason", c.name, res.StatusCode, answer, c.status)
		}
	}
	if strings.Contains(n.Log(), "panic") {
		t.Errorf("the log tells of a panic:\n%s", n.Log())
	}
}
