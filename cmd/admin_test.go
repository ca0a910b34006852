package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-analytics/weir/internal/testkit"
)

func TestCommandsWaitForANodeThatIsStarting(t *testing.T) {
	var asked atomic.Int32
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 3 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"error":{"code":"unavailable","message":"the node is still starting"}}`)
			return
		}
		io.WriteString(w, `{"sites":[]}`)
	}))
	defer node.Close()
	if _, said, err := testkit.Exec(t, testkit.Binary(t), "", nil, "site", "list", "--url", node.URL); err != nil || asked.Load() != 4 {
		t.Errorf("asked %d times: %v %s", asked.Load(), err, said)
	}
}

func TestAnUploadToANodeThatDiesSaysWhatToDo(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/import") {
			return
		}
		r.Body.Read(make([]byte, 1<<10))
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	defer node.Close()
	file := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(file, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, said, err := testkit.Exec(t, testkit.Binary(t), "", nil, "import", "--site", "a.example", file, "--url", node.URL)
	if err == nil || !strings.Contains(said, "went away") || !strings.Contains(said, "send the file again") || strings.Contains(said, "->") {
		t.Errorf("it says %q (%v)", said, err)
	}
}
