package admin

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
	"github.com/weir-analytics/weir/web/stats"
)

const (
	maxImports     = 4                      // under way at a time; each holds a few MiB of batches
	progressEvery  = 500 * time.Millisecond // between two lines
	waitingEvery   = 5 * time.Second        // between two lines while waiting for the counts, so that proxies see life
	readTimeout    = time.Minute            // for the next bytes of the body
	writeTimeout   = 30 * time.Second       // for the next line of the answer
	maxImportName  = 255                    // bytes of the parameter "file"
	importBufBytes = 64 << 10
)

var errStopping = errors.New("the node is stopping")

// Importer turns the lines of an access log into hits.
type Importer interface {
	// Import reads body to its end and returns once every accepted line is committed. progress is called now and then from the
	// calling goroutine. The counts returned beside an error are what was done before it.
	Import(ctx context.Context, in ImportRequest, progress func(ImportCounts)) (ImportResult, error)
}

// ImportRequest is one file.
type ImportRequest struct {
	Site state.Site
	Name string // of the file, part of the identity of its lines
	Body io.Reader
}

// ImportCounts says how far an import is.
type ImportCounts struct {
	Lines    int64 `json:"lines"`
	Accepted int64 `json:"accepted"`
	Rejected int64 `json:"rejected"`
}

// ImportResult says what became of a file.
type ImportResult struct {
	ImportCounts
	Humans, Bots int64
	Reasons      map[string]int64 // of the rejected lines
	Examples     []ImportExample  // a few rejected lines
	Offsets      map[int32]int64  // per partition of topic events, the offset after the last record of the import
}

// ImportExample is a rejected line.
type ImportExample struct {
	Line  int64  `json:"line"`
	Error string `json:"error"`
}

// lastLine is the line that ends an import that went well.
type lastLine struct {
	Done bool `json:"done"`
	ImportCounts
	Humans   int64            `json:"humans"`
	Bots     int64            `json:"bots"`
	Reasons  map[string]int64 `json:"reasons"`
	Examples []ImportExample  `json:"examples"`
}

// failedLine is the line that ends an import that did not.
type failedLine struct {
	reply.Document
	ImportCounts
}

// Import answers POST /sites/{site}/import.
func (a *Admin) Import(w http.ResponseWriter, r *http.Request) {
	body := &movingDeadline{r: r.Body, rc: http.NewResponseController(w)}
	in, wait, err := a.importRequest(r, body)
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	select {
	case a.imports <- struct{}{}:
		defer func() { <-a.imports }()
	default:
		reply.Fail(w, r, a.log, reply.Busy(10*time.Second, "%d imports are under way, which is the most; try again when one is done", maxImports))
		return
	}
	out := newLines(w)
	ctx, cancel := a.untilStop(r.Context(), body)
	defer cancel()
	result, err := a.importer.Import(ctx, in, out.progress)
	if err == nil && wait {
		err = a.waitForCounts(ctx, result, out)
	}
	if err != nil {
		a.importFailed(ctx, r, out, result.ImportCounts, err)
		return
	}
	out.write(lastLine{Done: true, ImportCounts: result.ImportCounts, Humans: result.Humans, Bots: result.Bots,
		Reasons: orEmpty(result.Reasons), Examples: append([]ImportExample{}, result.Examples...)})
}

// importFailed answers an error, on the last line when the status went out with the first.
func (a *Admin) importFailed(ctx context.Context, r *http.Request, out *lines, done ImportCounts, err error) {
	if errors.Is(context.Cause(ctx), errStopping) {
		err = reply.Busy(5*time.Second, "the node is stopping; send the same file again later, no line is counted twice")
	}
	if !out.begun {
		reply.Fail(out.w, r, a.log, err)
		return
	}
	e := reply.From(err)
	if e.Status == http.StatusInternalServerError {
		a.log.Error("an import failed", "path", r.URL.Path, "err", err)
	}
	out.write(failedLine{reply.Document{Error: e.Detail()}, done})
}

// waitForCounts waits until the counts hold the import, and shows that it waits.
func (a *Admin) waitForCounts(ctx context.Context, result ImportResult, out *lines) error {
	counted := make(chan error, 1)
	go func() { counted <- a.rollup.WaitFor(ctx, result.Offsets) }()
	tick := time.NewTicker(waitingEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-counted:
			return err
		case <-tick.C:
			out.write(result.ImportCounts)
		}
	}
}

// importRequest checks the parameters and prepares the body: deadlines that move with it, and decompression.
func (a *Admin) importRequest(r *http.Request, raw *movingDeadline) (ImportRequest, bool, error) {
	var none ImportRequest
	site, err := stats.SiteOf(r, a.ctl)
	if err != nil {
		return none, false, err
	}
	query := r.URL.Query()
	name := query.Get("file")
	if len(name) > maxImportName {
		return none, false, reply.Invalid("file", "file has %d bytes, want at most %d", len(name), maxImportName)
	}
	wait := query.Get("wait")
	if wait != "" && wait != "0" && wait != "1" {
		return none, false, reply.Invalid("wait", "wait is %.80q, want 0 or 1", wait)
	}
	_ = raw.rc.EnableFullDuplex() // progress goes out while the body comes in; a recorder in a test does so anyway
	body, err := plainBody(raw)
	if err != nil {
		return none, false, err
	}
	return ImportRequest{Site: site, Name: name, Body: body}, wait == "1", nil
}

// plainBody unpacks gzip, whether the header says so or only the first bytes do.
func plainBody(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, importBufBytes)
	magic, err := buffered.Peek(2)
	if len(magic) < 2 {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, reply.Invalid("", "the body cannot be read: %v", err)
		}
		return buffered, nil
	}
	if magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, reply.Invalid("", "the body begins like gzip but is not: %v", err)
	}
	return unpacked, nil
}

// untilStop returns a context that also ends when the node stops, and then ends the reading of body.
func (a *Admin) untilStop(parent context.Context, body *movingDeadline) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		select {
		case <-a.stopping:
			cancel(errStopping)
			body.stop()
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// movingDeadline gives each read its own time. A large file may take hours, a silent client may not.
type movingDeadline struct {
	r  io.Reader
	rc *http.ResponseController

	mu      sync.Mutex
	stopped bool
}

func (m *movingDeadline) Read(p []byte) (int, error) {
	m.deadline(time.Now().Add(readTimeout))
	n, err := m.r.Read(p)
	if errors.Is(err, io.EOF) {
		// From here the server only watches for a client that leaves. A deadline that passes would look like that.
		m.deadline(time.Time{})
	}
	return n, err
}

func (m *movingDeadline) deadline(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped {
		_ = m.rc.SetReadDeadline(at) // a recorder in a test has no deadlines
	}
}

// stop ends the reading at once, also a read that waits.
func (m *movingDeadline) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	_ = m.rc.SetReadDeadline(time.Now())
}

// lines writes the answer, one JSON document a line.
type lines struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	last  time.Time
	begun bool
}

func newLines(w http.ResponseWriter) *lines {
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the progress back
	return &lines{w: w, rc: http.NewResponseController(w), last: time.Now()}
}

func (l *lines) progress(counts ImportCounts) {
	if time.Since(l.last) >= progressEvery {
		l.write(counts)
	}
}

func (l *lines) write(line any) {
	l.last, l.begun = time.Now(), true
	_ = l.rc.SetWriteDeadline(l.last.Add(writeTimeout)) // not there in tests
	enc := json.NewEncoder(l.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(line) // a client that is gone also ends the context of the import
	_ = l.rc.Flush()
}

func orEmpty(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}
