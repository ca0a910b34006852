package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// recorder notes in which order parts stop.
type recorder struct {
	mu    sync.Mutex
	order []string
}

func (r *recorder) part(name string) part {
	return part{name: name, within: time.Second, run: func(ctx context.Context) error {
		<-ctx.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.order = append(r.order, name)
		return nil
	}}
}

func TestPartsStopFromTheTopDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec recorder
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if err := supervise(ctx, quiet, []part{rec.part("log"), rec.part("counts"), rec.part("web")}); err != nil {
			t.Errorf("supervise: %v", err)
		}
		if want := []string{"web", "counts", "log"}; !slices.Equal(rec.order, want) {
			t.Errorf("stopped %v, want %v", rec.order, want)
		}
	})
}

func TestAPartThatFailsStopsTheOthersAndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec recorder
		broken := errors.New("disk on fire")
		err := supervise(t.Context(), quiet, []part{rec.part("log"), {name: "counts", within: time.Second, run: func(context.Context) error { return broken }}, rec.part("web")})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "counts") {
			t.Errorf("supervise: %v, want the error of counts", err)
		}
		if want := []string{"web", "log"}; !slices.Equal(rec.order, want) {
			t.Errorf("stopped %v, want %v", rec.order, want)
		}
	})
}

func TestAPartThatDoesNotStopIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec recorder
		free := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stuck := part{name: "counts", within: 3 * time.Second, run: func(context.Context) error { <-free; return nil }}
		began := time.Now()
		err := supervise(ctx, quiet, []part{rec.part("log"), stuck})
		if err == nil || !strings.Contains(err.Error(), "did not stop within 3s") || time.Since(began) != 3*time.Second {
			t.Errorf("supervise: %v after %s", err, time.Since(began))
		}
		if !slices.Equal(rec.order, []string{"log"}) {
			t.Errorf("stopped %v, want the log too", rec.order)
		}
		close(free)
	})
}
