package stats

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/web/reply"
)

// AuditQuery asks for a recount of a site, and AuditResult is what it gives.
type (
	AuditQuery  = rollup.AuditQuery
	AuditResult = rollup.Audit
	Difference  = rollup.Difference
)

// auditEvery is how often an audit under way says how far it is, and auditTimeout how long a line of it may take to leave.
const (
	auditEvery   = 500 * time.Millisecond
	auditTimeout = 30 * time.Second
)

// auditLine is a line about an audit under way.
type auditLine struct {
	Events int64 `json:"events"` // of all sites, read so far
	Of     int64 `json:"of"`
}

// auditDocument is the last line of the answer. Names and their meaning are in docs/interfaces.md.
type auditDocument struct {
	Done        bool             `json:"done"`
	Site        string           `json:"site"`
	Timezone    string           `json:"timezone"`
	From        *time.Time       `json:"from"`
	To          *time.Time       `json:"to"`
	Since       *time.Time       `json:"since"`
	Events      int64            `json:"events"`
	Offsets     map[string]int64 `json:"offsets"`
	Rows        int64            `json:"rows"`
	Hits        int64            `json:"hits"`
	Pageviews   int64            `json:"pageviews"`
	Visits      int64            `json:"visits"`
	Differences []difference     `json:"differences"`
	More        int64            `json:"more"`
}

type difference struct {
	Window    string    `json:"window"`
	Start     time.Time `json:"start"`
	Partition int32     `json:"partition"`
	Report    string    `json:"report"`
	Link      string    `json:"link,omitempty"`
	Key       string    `json:"key"`
	Measure   string    `json:"measure"`
	Counted   int64     `json:"counted"`
	Recounted int64     `json:"recounted"`
}

// Audit answers GET /sites/{site}/audit: a recount from the raw log, line by line, with progress first. One runs at a time, because it reads
// the whole log.
func (s *Stats) Audit(w http.ResponseWriter, r *http.Request) {
	site, err := s.site(r)
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	cal, err := loadCalendar(site.Timezone)
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	query := r.URL.Query()
	for name := range query {
		if name != "from" && name != "to" && name != "last" && name != "period" && name != "week_starts" {
			reply.Fail(w, r, s.log, reply.Invalid(name, "there is no parameter %.80q here, want any of: from, to, last, period, week_starts", name))
			return
		}
	}
	p, err := parseParams(query, cal, s.now())
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	select {
	case s.audits <- struct{}{}:
		defer func() { <-s.audits }()
	default:
		reply.Fail(w, r, s.log, reply.Busy(10*time.Second, "another audit is under way, and each reads the whole log; try again when it is done"))
		return
	}
	out := auditWriter{w: w, rc: http.NewResponseController(w), last: s.now()}
	result, err := s.rollup.Audit(r.Context(), AuditQuery{Site: site.ID, From: p.from, To: p.to}, func(done, all int64) {
		if now := s.now(); now.Sub(out.last) >= auditEvery {
			out.last = now
			out.write(auditLine{done, all})
		}
	})
	if err != nil {
		out.fail(r.Context(), func() { reply.Fail(w, r, s.log, err) }, err)
		return
	}
	loc := cal.zone.Location()
	doc := auditDocument{Done: true, Site: site.Name, Timezone: site.Timezone, From: inZone(result.From, loc), To: inZone(result.To, loc), Since: inZone(result.Since, loc),
		Events: result.Events, Offsets: map[string]int64{}, Rows: result.Rows, Hits: result.Totals.Hits, Pageviews: result.Totals.Pageviews, Visits: result.Totals.Visits,
		Differences: []difference{}, More: result.More}
	for partition, offset := range result.Offsets {
		doc.Offsets[strconv.Itoa(int(partition))] = offset
	}
	for _, d := range result.Differences {
		doc.Differences = append(doc.Differences, difference{d.Unit.String(), d.Start, d.Partition, d.Report, d.Link, d.Key, d.Measure, d.Counted, d.Recounted})
	}
	out.write(doc)
}

// auditWriter writes lines.
type auditWriter struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	last  time.Time
	begun bool
}

func (a *auditWriter) write(line any) {
	if !a.begun {
		a.begun = true
		h := a.w.Header()
		h.Set("Content-Type", "application/x-ndjson")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold the progress back
	}
	_ = a.rc.SetWriteDeadline(time.Now().Add(auditTimeout)) // not there in tests
	enc := json.NewEncoder(a.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(line) // a client that is gone also ends the context
	_ = a.rc.Flush()
}

// fail answers an error: with its status, or as the last line when the status is out.
func (a *auditWriter) fail(ctx context.Context, whole func(), err error) {
	if !a.begun {
		whole()
		return
	}
	if ctx.Err() == nil {
		a.write(map[string]any{"error": reply.From(err).Detail()})
	}
}
