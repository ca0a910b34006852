package live

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/stats"
)

type sites struct{ st atomic.Pointer[state.State] }

func (s *sites) State() *state.State { return s.st.Load() }

func (s *sites) apply(t *testing.T, cmd command.Command) {
	t.Helper()
	next, _, err := s.st.Load().Apply(cmd, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.st.Store(next)
}

type rollup struct {
	stats.Rollup
	changed chan struct{}
	hits    atomic.Int64
	broken  atomic.Bool
	watched atomic.Int64
}

func (r *rollup) Now(state.SiteID) (stats.NowCounts, error) {
	if r.broken.Load() {
		return stats.NowCounts{}, errors.New("broken")
	}
	return stats.NowCounts{Hits1m: r.hits.Load()}, nil
}

func (r *rollup) Bounds(state.SiteID) (first, last time.Time, ok bool) { return }

func (r *rollup) Watch(state.SiteID) (<-chan struct{}, func()) {
	r.watched.Add(1)
	return r.changed, func() { r.watched.Add(-1) }
}

func (r *rollup) change() {
	r.hits.Add(1)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// bench is one stream with everything around it.
type bench struct {
	*Live
	sites    *sites
	rollup   *rollup
	may      atomic.Bool
	stopping chan struct{}
	answer   *httptest.ResponseRecorder
	ended    atomic.Bool
	leave    context.CancelFunc
}

func open(t *testing.T) *bench {
	t.Helper()
	b := &bench{sites: &sites{}, rollup: &rollup{changed: make(chan struct{}, 1)}, stopping: make(chan struct{}), answer: httptest.NewRecorder()}
	b.sites.st.Store(state.New())
	b.sites.apply(t, command.AddSite{Name: "example.com", Timezone: "UTC"})
	b.may.Store(true)
	b.Live = New(b.sites, b.rollup, func(*http.Request) bool { return b.may.Load() }, b.stopping, slog.New(slog.DiscardHandler))
	router := chi.NewRouter()
	router.Get("/sites/{site}/live", b.Stream)
	ctx, leave := context.WithCancel(t.Context())
	b.leave = leave
	go func() {
		router.ServeHTTP(b.answer, httptest.NewRequest("GET", "/sites/example.com/live", nil).WithContext(ctx))
		b.ended.Store(true)
	}()
	synctest.Wait()
	return b
}

// events returns how many events came so far. Call it only while the stream waits.
func (b *bench) events() int { return strings.Count(b.answer.Body.String(), "event: now\n") }

func TestChangesAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		defer b.leave()
		if b.events() != 1 || !strings.HasPrefix(b.answer.Body.String(), "retry: 2000\n\nevent: now\ndata: {\"visitors_5m\":0,") {
			t.Fatalf("at once: %q", b.answer.Body)
		}
		for range 1000 { // ten seconds of a change each 10 ms
			b.rollup.change()
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if got := b.events(); got < 39 || got > 42 {
			t.Errorf("%d events in ten busy seconds, want 4 a second", got)
		}
		time.Sleep(MinGap)
		synctest.Wait()
		if !strings.HasSuffix(b.answer.Body.String(), "\"hits_1m\":1000,\"visitors_30m\":0,\"hits_30m\":0,\"complete_to\":null,\"first_hit\":false}\n\n") {
			t.Errorf("the last change was not sent: %q", b.answer.Body.String()[len(b.answer.Body.String())-200:])
		}
	})
}

func TestQuietStreamShowsThatItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		defer b.leave()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := b.events(); got < 4 || got > 5 {
			t.Errorf("%d events in a quiet minute, want one each 15 seconds", got)
		}
	})
}

func TestStreamEnds(t *testing.T) {
	cases := map[string]func(*testing.T, *bench){
		"the client leaves":     func(_ *testing.T, b *bench) { b.leave() },
		"the node stops":        func(_ *testing.T, b *bench) { close(b.stopping) },
		"the session is over":   func(_ *testing.T, b *bench) { b.may.Store(false) },
		"the site is deleted":   func(t *testing.T, b *bench) { b.sites.apply(t, command.DeleteSite{Name: "example.com"}) },
		"the counts are broken": func(_ *testing.T, b *bench) { b.rollup.broken.Store(true) },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t)
				defer b.leave()
				end(t, b)
				time.Sleep(MaxGap)
				synctest.Wait()
				if !b.ended.Load() || b.Open() != 0 || b.rollup.watched.Load() != 0 {
					t.Errorf("ended %v, %d open, %d watches left", b.ended.Load(), b.Open(), b.rollup.watched.Load())
				}
				if b.events() != 1 {
					t.Errorf("%d events, want only the first", b.events())
				}
			})
		})
	}
}

func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		defer b.leave()
		b.open.Store(MaxStreams)
		router := chi.NewRouter()
		router.Get("/sites/{site}/live", b.Stream)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest("GET", "/sites/example.com/live", nil))
		if w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("%d %s, want 503", w.Code, w.Body)
		}
		b.open.Store(1)
	})
}
