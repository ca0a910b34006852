package web

import (
	"strings"
	"testing"
)

func TestTheAPISaysThatItIsNotThereYet(t *testing.T) {
	started := make(chan struct{})
	n := newNode(t, func(c *Config) { c.Started = started })
	for _, path := range []string{"GET /setup", "GET /me", "POST /login", "GET /sites/shop.example/now", "POST /sites/shop.example/import", "GET /attribution", "GET /nothing"} {
		method, path, _ := strings.Cut(path, " ")
		w := n.do(method, "/api/v1"+path, "")
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"code":"unavailable"`) {
			t.Errorf("%s %s: %d %v %s", method, path, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range []string{"/healthz", "/js/weir.js", "/"} {
		if w := n.do("GET", path, ""); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	close(started)
	if w := n.do("GET", "/api/v1/attribution", ""); w.Code != 200 {
		t.Errorf("after the start: %d", w.Code)
	}
}
