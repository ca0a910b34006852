package live

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
	"github.com/weir-analytics/weir/web/stats"
)

const (
	// MinGap is the least time between two events of a stream. A person sees no more, and each costs a query.
	MinGap = 250 * time.Millisecond
	// MaxGap is the most time between two events. Proxies commonly cut connections that are silent for 30 to 60 seconds.
	MaxGap = 15 * time.Second
	// MaxStreams bounds the open streams of a node (guess; each holds a connection and about 20 KiB).
	MaxStreams = 1000

	writeTimeout = 10 * time.Second // for a reader that stops reading
	retryMillis  = 2000             // how long a browser waits before it comes back
)

// Rollup is what the counts come from.
type Rollup interface {
	stats.Rollup
	// Watch returns a channel that gets a value after changes of a site's counts, joined while nobody receives, and a function that ends it.
	Watch(site state.SiteID) (<-chan struct{}, func())
}

// Live answers the route of live streams.
type Live struct {
	sites    stats.Sites
	rollup   Rollup
	still    func(*http.Request) bool // whether the caller may still read
	stopping <-chan struct{}          // closed when the node stops
	log      *slog.Logger
	open     atomic.Int64
}

// New returns a Live. still is asked before each event.
func New(sites stats.Sites, rollup Rollup, still func(*http.Request) bool, stopping <-chan struct{}, log *slog.Logger) *Live {
	return &Live{sites: sites, rollup: rollup, still: still, stopping: stopping, log: log}
}

// Open returns the number of open streams.
func (l *Live) Open() int64 { return l.open.Load() }

// Stream answers GET /sites/{site}/live.
func (l *Live) Stream(w http.ResponseWriter, r *http.Request) {
	site, err := stats.SiteOf(r, l.sites)
	if err != nil {
		reply.Fail(w, r, l.log, err)
		return
	}
	if l.open.Add(1) > MaxStreams {
		l.open.Add(-1)
		reply.Fail(w, r, l.log, reply.Busy(10*time.Second, "%d live streams are open, which is the most", MaxStreams))
		return
	}
	defer l.open.Add(-1)
	// Before the first look, so that no change falls between look and watch.
	changed, unwatch := l.rollup.Watch(site.ID)
	defer unwatch()
	first, err := l.event(site.ID)
	if err != nil {
		reply.Fail(w, r, l.log, err)
		return
	}
	l.run(w, r, site.ID, first, changed)
}

// run sends events until one of the reasons to end comes.
func (l *Live) run(w http.ResponseWriter, r *http.Request, site state.SiteID, event []byte, changed <-chan struct{}) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	out := stream{w: w, rc: http.NewResponseController(w)}
	out.begin()

	gap, heartbeat := time.NewTimer(MinGap), time.NewTimer(MaxGap)
	defer gap.Stop()
	defer heartbeat.Stop()
	for {
		if !out.send(event) || !l.wait(r, gap.C, nil, nil) {
			return
		}
		if !l.wait(r, nil, changed, heartbeat.C) || !l.still(r) {
			return
		}
		gap.Reset(MinGap)
		heartbeat.Reset(MaxGap)
		if _, exists := l.sites.State().Sites[site]; !exists {
			return
		}
		var err error
		if event, err = l.event(site); err != nil {
			l.log.Warn("a live stream ended because the counts cannot be read", "site", site, "err", err)
			return
		}
	}
}

// wait returns true when one of the channels has something, and false when the stream has to end. Channels may be nil.
func (l *Live) wait(r *http.Request, gap <-chan time.Time, changed <-chan struct{}, heartbeat <-chan time.Time) bool {
	select {
	case <-gap:
	case <-changed:
	case <-heartbeat:
	case <-r.Context().Done():
		return false
	case <-l.stopping:
		return false
	}
	return true
}

// event renders the document of a site as one event.
func (l *Live) event(site state.SiteID) ([]byte, error) {
	now, err := stats.NowOf(l.rollup, site)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("event: now\ndata: ")
	if err := json.NewEncoder(&b).Encode(now); err != nil { // ends in one newline
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
