package web

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestImport(t *testing.T) {
	n := newNode(t)
	callers(t, n)
	n.run(t)
	resp, err := n.socketClient().Post("http://weir/api/v1/sites/example.com/import?wait=1&file=access.log", "text/plain", strings.NewReader("one\nbad\nthree\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := `{"done":true,"lines":3,"accepted":2,"before":0,"rejected":1,"humans":2,"bots":0,"reasons":{"not a log line":1},"examples":[{"line":2,"error":"not a log line"}]}` + "\n"
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || string(got) != want || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d %s %v, want %s", resp.StatusCode, got, err, want)
	}
	if n.importer.got.Site.ID != 1 || n.rollup.waited[0] != 2 {
		t.Errorf("importer got %+v, waited for %v", n.importer.got, n.rollup.waited)
	}
}

// slowImporter shows progress after each byte, so that a test can talk to it. It has begun when it has read slowBegins bytes.
type slowImporter struct{ begun chan struct{} }

const slowBegins = 3

func (s *slowImporter) Import(ctx context.Context, in ImportRequest, progress func(ImportCounts)) (result ImportResult, err error) {
	for buf := make([]byte, 1); err == nil; {
		if _, err = in.Body.Read(buf); err == nil {
			if result.Lines++; result.Lines == slowBegins {
				close(s.begun)
			}
			progress(result.ImportCounts)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return result, errors.Join(err, context.Cause(ctx))
}

func TestImportEndsCleanlyAtTheStop(t *testing.T) {
	importer := &slowImporter{begun: make(chan struct{})}
	n := newNode(t, func(c *Config) { c.Importer = importer })
	callers(t, n)
	stop := n.run(t)
	body, feed := io.Pipe()
	answer := make(chan string, 1)
	go func() {
		resp, err := n.socketClient().Post("http://weir/api/v1/sites/example.com/import", "text/plain", body)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answer <- string(b)
	}()
	_, _ = feed.Write([]byte("abc")) // returns when the client has taken it
	<-importer.begun                 // and this when the server has: a client that still writes when the server stops sees no answer
	began := time.Now()
	stop()
	if took := time.Since(began); took > stopTimeout/2 {
		t.Errorf("the stop took %s", took)
	}
	defer feed.Close() // the client reads the answer while its body is not at an end
	if got := <-answer; !strings.Contains(got, `"code":"unavailable"`) || !strings.Contains(got, "send the same file again later") {
		t.Errorf("answer: %s", got)
	}
}

func TestFailedImportSaysSo(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	w := n.do("POST", "/api/v1/sites/example.com/import", "one\nfail\n", by["token:ingest"])
	if w.Code != 500 || errorCode(t, w) != "import_stopped" || !strings.Contains(w.Body.String(), "gzip: invalid checksum") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := n.do("POST", "/api/v1/sites/example.com/import?wait=yes", "one\n", by["token:ingest"]); errorCode(t, w) != "invalid" {
		t.Errorf("wait=yes: %d %s", w.Code, w.Body)
	}
}
