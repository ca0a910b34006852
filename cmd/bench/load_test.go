package bench

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestALoadCountsWhatWasAnswered(t *testing.T) {
	server := httptest.NewServer(Bare())
	defer server.Close()
	addr := server.Listener.Addr().String()
	for _, c := range []struct {
		name       string
		requests   [][]byte
		perRequest int
	}{
		{"singles", Singles("/read", "a.example", 20), 1},
		{"batches", Batches("/parse", "a.example", 2, 30, time.Now()), 30},
	} {
		load, err := Run(t.Context(), addr, c.requests, c.perRequest, 3, 20*time.Millisecond)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if load.Requests < 3 || load.Events != load.Requests*c.perRequest || load.P50 <= 0 || load.P99 < load.P50 || load.PerSecond() <= 0 {
			t.Errorf("%s: got %+v", c.name, load)
		}
	}
	if _, err := Run(t.Context(), addr, Singles("/elsewhere", "a.example", 1), 1, 1, time.Second); err == nil || !strings.Contains(err.Error(), "answered 404") {
		t.Errorf("a refused request: error %v", err)
	}
}
