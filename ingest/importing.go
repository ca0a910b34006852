package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/importer"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/visitor"
	"github.com/weir-analytics/weir/raftfsm/state"
)

const (
	importChunk    = 4000 // lines between two looks at the log and the progress: batches of hundreds per partition
	importWindow   = 16   // batches under way
	importExamples = 20   // rejected lines that are shown
	perReason      = 3    // of them per reason
)

// ImportRequest is one log file for one site.
type ImportRequest struct {
	Site state.Site
	Body io.Reader // plain text or compressed
	// Zone is that of times whose zone the log does not tell, as in HAProxy's; nil is UTC.
	Zone *time.Location
	// Check has everything read and nothing written: the result says what an import would do.
	Check bool
	// From is the Next of the import that ended right before the first line of Body; empty where Body begins with the first line of its file.
	From string
	// Pace, which may be nil, is called by the calling goroutine after each some thousand lines, with the offsets of ImportResult so far. The
	// import goes on when it returns: it may wait, so that history does not run away from who reads it.
	Pace func(ctx context.Context, offsets map[int32]int64)
}

// ImportCounts says how far an import is. Lines is the sum of the others.
type ImportCounts struct {
	Lines    int64 `json:"lines"`
	Accepted int64 `json:"accepted"`
	Before   int64 `json:"before"` // lines that were imported before
	Rejected int64 `json:"rejected"`
}

// ImportExample is a rejected line.
type ImportExample struct {
	Line  int64  `json:"line"` // from 1
	Error string `json:"error"`
}

// ImportResult says what became of a file.
type ImportResult struct {
	ImportCounts
	Humans    int64            // accepted lines of people
	Bots      int64            // accepted lines of bots
	NoVisitor int64            // accepted lines without client and agent: hits, but of no visitor
	FirstMs   int64            // time of the earliest accepted line, Unix milliseconds; 0 when there is none
	LastMs    int64            // of the latest one
	Formats   map[string]int64 // lines that were read as one of a format, accepted ones and those from before
	Reasons   map[string]int64
	Examples  []ImportExample
	Next      string          // for ImportRequest.From of the lines that come behind these in the file
	Offsets   map[int32]int64 // per partition of the topic, the offset behind the last record of this import
}

// Import reads a log to its end, and returns once every accepted line is committed. progress, which may be nil, is called now and then by
// the calling goroutine.
//
// A line has the same identity whenever the file, or a longer version of it, is imported into the same site, so importing again counts
// nothing twice: lines that are known to be counted are not written again, and where that is not known counting drops the repeats. After an error the result holds the lines that were read; the last ones may not be committed. Importing the file again goes
// on from there.
func (i *Ingest) Import(ctx context.Context, request ImportRequest, progress func(ImportCounts)) (ImportResult, error) {
	t, err := i.newIntake(sourceImport)
	if err != nil {
		return ImportResult{}, fmt.Errorf("import: %w", err)
	}
	lines, err := importer.NewReader(request.Body, i.cfg.LineBytes)
	if err != nil {
		return ImportResult{}, err
	}
	defer lines.Close()
	im := &importing{intake: t, site: request.Site, zone: request.Zone, lines: lines, fingerprint: newFingerprint(t.state, request.Site.ID), progress: progress, pace: request.Pace,
		check: request.Check, failures: make([]uint64, len(t.parts)), counted: make([]uint64, len(t.parts)), examples: map[string]int{}}
	if request.From != "" {
		if err := im.goOn(request.From); err != nil {
			return ImportResult{}, err
		}
	}
	im.began = im.number
	for number, p := range t.parts {
		im.failures[number] = p.seen()
	}
	im.result.Reasons, im.result.Formats = map[string]int64{}, map[string]int64{}
	im.result.Offsets = map[int32]int64{}
	err = im.run(ctx)
	im.result.Next = im.place()
	return im.result, err
}

// importing is one import under way.
type importing struct {
	*intake
	site        state.Site
	zone        *time.Location
	lines       *importer.Reader
	parser      importer.Parser
	fingerprint *fingerprint
	check       bool
	began       int64    // lines of the file before the first of this import
	number      int64    // lines of the file so far
	counted     []uint64 // per partition, the highest line of asked that is counted
	asked       string   // source that counted is of
	reached     uint64   // highest of counted
	failures    []uint64
	progress    func(ImportCounts)
	pace        func(context.Context, map[int32]int64)
	examples    map[string]int
	result      ImportResult

	exportAgents map[exportAgent]*agent
}

func (im *importing) run(ctx context.Context) error {
	for {
		more, err := im.chunk(ctx)
		if err != nil {
			im.flush()
			_ = im.settle(ctx, 0) // what is under way is counted if it is written
			return err
		}
		im.flush()
		left := importWindow
		if !more {
			left = 0
		}
		if err := im.settle(ctx, left); err != nil {
			return im.stopped(err)
		}
		if im.progress != nil {
			im.progress(im.result.ImportCounts)
		}
		if !more {
			im.finish()
			return nil
		}
		if im.pace != nil {
			im.pace(ctx, im.result.Offsets)
		}
	}
}

func (im *importing) stopped(err error) error {
	return fmt.Errorf("import stopped after line %d; import the file again to go on, no line is counted twice: %w", im.began+im.result.Lines, err)
}

// chunk takes some lines. It reports whether there are more.
func (im *importing) chunk(ctx context.Context) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("import: %w", context.Cause(ctx))
	}
	im.receivedMs = im.i.cfg.Now().UnixMilli()
	for range importChunk {
		line, number, tooLong, err := im.lines.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := im.take(ctx, line, number, tooLong); err != nil {
			return false, err
		}
	}
	return true, nil
}

// take takes one line. An error is one of the way to the log; what is wrong with the line is counted.
func (im *importing) take(ctx context.Context, line []byte, number int64, tooLong bool) error {
	im.result.Lines++
	number += im.began
	im.number = number
	source := im.fingerprint.source
	if trimmed := bytes.TrimRight(line, " \t\r"); len(trimmed) > 0 && trimmed[0] != '#' {
		source = im.fingerprint.next(trimmed)
	}
	if tooLong {
		im.reject(number, &importer.Bad{Reason: importer.TooLong, Detail: fmt.Sprintf("more than %d bytes", im.i.cfg.LineBytes)})
		return nil
	}
	if err := im.ask(source); err != nil {
		return err
	}
	var l importer.Line
	if err := im.parser.Parse(line, &l); err != nil {
		im.reject(number, err)
		return nil
	}
	if l.Local && im.zone != nil {
		l.TimeMs = inZone(l.TimeMs, im.zone)
	}
	switch {
	case l.TimeMs > im.receivedMs+maxAheadMs:
		im.reject(number, &importer.Bad{Reason: importer.InFuture, Detail: time.UnixMilli(l.TimeMs).UTC().Format(time.RFC3339)})
		return nil
	case l.TimeMs < earliestMs:
		im.reject(number, &importer.Bad{Reason: importer.TooEarly, Detail: time.UnixMilli(l.TimeMs).UTC().Format(time.RFC3339)})
		return nil
	}
	a := noAgent
	switch {
	case l.HasAgent:
		a = im.i.agents.get(l.Agent)
	case l.Export != nil:
		a = im.exportedAgent(l.Export)
	}
	who := whoOf(&l, a)
	im.result.Formats[l.Format]++
	if im.before(who, uint64(number)) {
		im.result.Before++
		return nil
	}
	var h hit.Hit
	im.fill(&l, &h, who, a)
	h.ID = hit.ID{Source: source, Seq: uint64(number)}
	if !im.check {
		if err := im.putPatiently(ctx, &h, who); err != nil {
			im.result.Lines--
			return im.stopped(err)
		}
	}
	im.result.Accepted++
	if im.result.FirstMs == 0 || h.TimeMs < im.result.FirstMs {
		im.result.FirstMs = h.TimeMs
	}
	im.result.LastMs = max(im.result.LastMs, h.TimeMs)
	if h.Bot {
		im.result.Bots++
	} else {
		im.result.Humans++
	}
	if h.Visitor == 0 {
		im.result.NoVisitor++
	}
	return nil
}

// earliestMs is the first moment that a line may have; the web is not older.
const earliestMs = 631152000000 // 1990-01-01

// ask learns which lines of a source are counted.
func (im *importing) ask(source string) error {
	if source == im.asked || im.i.cfg.Highest == nil {
		return nil
	}
	im.asked, im.reached = source, 0
	for number := range im.counted {
		seq, err := im.i.cfg.Highest(int32(number), source)
		if err != nil {
			return fmt.Errorf("look up which lines were imported before: %w", err)
		}
		im.counted[number] = seq
		im.reached = max(im.reached, seq)
	}
	return nil
}

// before reports whether a line is known to be counted.
func (im *importing) before(who visitor.Who, number uint64) bool {
	return number <= im.reached && number <= im.counted[visitor.Partition(im.state.RouteKey, im.site.ID, who, int32(len(im.parts)))]
}

// whoOf says who made a request.
func whoOf(l *importer.Line, a *agent) visitor.Who {
	who := visitor.Who{Agent: a.sum}
	if addr, ok := clientip.Parse(view(l.Client)); ok {
		who.Addr = addr
	} else {
		who.Name = view(l.Client)
	}
	return who
}

// fill turns a line into a hit.
func (im *importing) fill(l *importer.Line, h *hit.Hit, who visitor.Who, a *agent) {
	h.TimeMs, h.Status = l.TimeMs, l.Status
	h.Host = pageurl.Host(view(l.Host))
	h.Kind = hit.Request
	if len(l.Target) > 0 {
		u := pageurl.Target(view(l.Target))
		h.Path, h.Query, h.Campaign, h.ClickID = u.Path, u.Query, pageurl.Campaign(u.Query), pageurl.ClickID(u.Query)
		if u.Host != "" && h.Host == "" {
			h.Host = u.Host
		}
		if importer.IsPageview(view(l.Method), l.Status, h.Path) {
			h.Kind = hit.Pageview
		}
	}
	from := im.referrer(view(l.Referrer))
	botKind := from.set(h, "")
	if l.Export != nil {
		botKind = im.exported(l.Export, h, botKind)
	}
	im.describe(h, im.site, who, a, botKind)
}

// putPatiently queues a hit, and waits while the queue is full.
func (im *importing) putPatiently(ctx context.Context, h *hit.Hit, who visitor.Who) error {
	for {
		err := im.put(h, who, im.failures)
		if !errors.Is(err, errQueueFull) {
			return err
		}
		im.flush()
		if err := im.settle(ctx, len(im.waits.batches)-1); err != nil {
			return err
		}
		if len(im.waits.batches) > 0 {
			continue
		}
		select { // others fill the queue
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settle waits until at most left batches are under way.
func (im *importing) settle(ctx context.Context, left int) error {
	for len(im.waits.batches) > max(left, 0) {
		b := im.waits.batches[0]
		select {
		case <-b.done:
		case <-ctx.Done():
			return errors.Join(ErrOutcomeUnknown, context.Cause(ctx))
		}
		if b.err != nil {
			return b.err
		}
		im.result.Offsets[b.part] = max(im.result.Offsets[b.part], b.next)
		im.waits.batches = im.waits.batches[1:]
	}
	return nil
}

// reject counts a line that is no hit, and keeps a few as examples.
func (im *importing) reject(number int64, err error) {
	im.result.Rejected++
	reason := string(importer.UnknownFormat)
	var bad *importer.Bad
	if errors.As(err, &bad) {
		reason = string(bad.Reason)
	}
	im.result.Reasons[reason]++
	im.examples[reason]++
	if im.examples[reason] <= perReason && len(im.result.Examples) < importExamples {
		im.result.Examples = append(im.result.Examples, ImportExample{number, err.Error()})
	}
	if !im.check && uint64(number) > im.reached { // else the import before has counted it
		im.i.lost(im.site.ID, reasonBadLine, 1)
	}
}

// finish says what an import has left open.
func (im *importing) finish() {
	if im.result.NoVisitor > 0 {
		im.i.cfg.Log.Info("log lines without client and agent are counted as hits of no visitor", "site", im.site.Name, "lines", im.result.NoVisitor)
	}
}
