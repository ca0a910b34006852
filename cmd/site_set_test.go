package cmd

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnEmptyListTakesARuleAway: and the others stay.
func TestAnEmptyListTakesARuleAway(t *testing.T) {
	rules, sent := `{"addresses":["192.0.2.1"],"paths":["/admin/*"],"query_listed":true}`, ""
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, adminSocket))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			b, _ := io.ReadAll(r.Body)
			sent = string(b)
			rules = strings.TrimSuffix(strings.TrimPrefix(sent, `{"rules":`), "}")
		}
		_, _ = w.Write([]byte(`{"name":"a.example","rules":` + rules + `}`))
	}))
	server.Listener = l
	server.Start()
	defer server.Close()
	root := New()
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs([]string{"site", "set", "a.example", "--data", dir, "--own-addresses", "", "--trailing-slash", "remove"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := `{"rules":{"paths":["/admin/*"],"query_listed":true,"no_trailing_slash":true}}`; sent != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
	if got := out.String(); strings.Contains(got, "192.0.2.1") || !strings.Contains(got, "/admin/*") || !strings.Contains(got, "remove") {
		t.Errorf("printed\n%s", got)
	}
}
