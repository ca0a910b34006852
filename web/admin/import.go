package admin

import (
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
	maxImports    = 4                      // under way at a time; each holds a few MiB of batches
	progressEvery = 500 * time.Millisecond // between two lines
	waitingEvery  = 5 * time.Second        // between two lines while waiting for the counts, so that proxies see life
	readTimeout   = time.Minute            // for the next bytes of the body
	writeTimeout  = 30 * time.Second       // for the next line of the answer
	maxImportName = 255                    // bytes of the parameter "file"
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
	Site  state.Site
	Body  io.Reader      // plain or compressed; reading it fails when the client is silent for too long
	Check bool           // write nothing, only say what would be counted
	From  string         // ImportResult.Next of the import of the lines before in the same file, or ""
	Zone  *time.Location // of times whose zone the log does not tell; nil is UTC
}

// ImportCounts says how far an import is.
type ImportCounts struct {
	Lines    int64 `json:"lines"`
	Accepted int64 `json:"accepted"`
	Before   int64 `json:"before"` // lines that were imported before
	Rejected int64 `json:"rejected"`
}

// ImportResult says what became of a file.
type ImportResult struct {
	ImportCounts
	Humans, Bots int64
	First, Last  time.Time        // of the accepted lines; zero when there is none
	Formats      map[string]int64 // lines by their format
	Reasons      map[string]int64 // of the rejected lines
	Examples     []ImportExample  // a few rejected lines
	Next         string           // where to go on in the same file
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
	First    time.Time        `json:"first,omitzero"`
	Last     time.Time        `json:"last,omitzero"`
	Formats  map[string]int64 `json:"formats,omitempty"`
	Reasons  map[string]int64 `json:"reasons"`
	Examples []ImportExample  `json:"examples"`
	Next     string           `json:"next,omitempty"`
}

// failedLine is the line that ends an import that did not.
type failedLine struct {
	reply.Document
	ImportCounts
}

// Import answers POST /sites/{site}/import.
func (a *Admin) Import(w http.ResponseWriter, r *http.Request) {
	options, err := a.importOptions(r)
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
	body := &movingDeadline{r: r.Body, rc: http.NewResponseController(w)}
	_ = body.rc.EnableFullDuplex() // progress goes out while the body comes in; a recorder in a test does so anyway
	ctx, cancel := a.untilStop(r.Context(), body)
	defer cancel()

	out, began := newLines(w), time.Now()
	result, err := a.importer.Import(ctx, ImportRequest{Site: options.site, Body: body, Check: options.check, From: options.from, Zone: options.zone}, out.progress)
	if err == nil && options.wait && !options.check {
		err = a.waitForCounts(ctx, result, out)
	}
	log := a.log.With("site", options.site.Name, "file", options.file, "lines", result.Lines, "accepted", result.Accepted, "rejected", result.Rejected, "took", time.Since(began))
	if err != nil {
		log.Warn("an import stopped", "err", err)
		a.importFailed(ctx, r, out, result.ImportCounts, err)
		return
	}
	switch {
	case options.check:
		log.Info("a log was checked, nothing was imported")
	case options.from != "":
		log.Debug("more of a log was imported") // one that is followed sends some lines each second
	default:
		log.Info("a log was imported", "before", result.Before)
	}
	out.write(lastLine{Done: true, ImportCounts: result.ImportCounts, Humans: result.Humans, Bots: result.Bots, First: result.First, Last: result.Last,
		Formats: result.Formats, Reasons: orEmpty(result.Reasons), Examples: append([]ImportExample{}, result.Examples...), Next: result.Next})
}

// importFailed answers an error, on the last line when the status went out with the first. Whoever may import is told the whole error: most
// are about the file.
func (a *Admin) importFailed(ctx context.Context, r *http.Request, out *lines, done ImportCounts, err error) {
	e := reply.From(err)
	switch {
	case errors.Is(context.Cause(ctx), errStopping):
		e = reply.Busy(5*time.Second, "the node is stopping; send the same file again later, no line is counted twice")
	case e.Status == http.StatusInternalServerError:
		e = &reply.Error{Status: http.StatusInternalServerError, Code: "import_stopped", Message: err.Error()}
	}
	if out.begun {
		out.write(failedLine{reply.Document{Error: e.Detail()}, done})
		return
	}
	reply.Fail(out.w, r, a.log, e)
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

// importOptions are the parameters of an import.
type importOptions struct {
	site  state.Site
	file  string // for the log of this node
	wait  bool   // answer once everything is in the counts
	check bool   // write nothing
	from  string
	zone  *time.Location
}

func (a *Admin) importOptions(r *http.Request) (importOptions, error) {
	site, err := stats.SiteOf(r, a.ctl)
	if err != nil {
		return importOptions{}, err
	}
	query := r.URL.Query()
	file, wait, check, zone := query.Get("file"), query.Get("wait"), query.Get("check"), query.Get("zone")
	if len(file) > maxImportName {
		return importOptions{}, reply.Invalid("file", "file has %d bytes, want at most %d", len(file), maxImportName)
	}
	if wait != "" && wait != "0" && wait != "1" {
		return importOptions{}, reply.Invalid("wait", "wait is %.80q, want 0 or 1", wait)
	}
	if check != "" && check != "0" && check != "1" {
		return importOptions{}, reply.Invalid("check", "check is %.80q, want 0 or 1", check)
	}
	options := importOptions{site: site, file: file, wait: wait == "1", check: check == "1", from: query.Get("from")}
	if zone != "" {
		if options.zone, err = time.LoadLocation(zone); err != nil {
			return importOptions{}, reply.Invalid("zone", "zone is %.80q, want the name of a time zone such as Europe/Berlin", zone)
		}
	}
	return options, nil
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
