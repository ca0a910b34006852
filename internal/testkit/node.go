package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/sock"
)

var build struct {
	once sync.Once
	path string
	err  error
}

// Binary returns the path of the built program: the one that WEIR_BIN names, or one that is built for this run of the tests, without the
// front end when that is not built.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("WEIR_BIN"); path != "" {
		return path
	}
	build.once.Do(func() {
		dir, err := os.MkdirTemp("", "weir-test-bin-")
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "weir")
		cmd := exec.Command("go", "build", "-o", build.path, "./cmd/weir")
		cmd.Dir = Root(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("go build ./cmd/weir: %w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.path
}

// Cleanup removes what Binary built. Call it from TestMain.
func Cleanup() {
	if build.path != "" {
		os.RemoveAll(filepath.Dir(build.path))
	}
}

// Node is a running node in a process of its own.
type Node struct {
	Dir   string // data directory
	HTTP  string // http://HOST:PORT
	Kafka string // HOST:PORT

	t      testing.TB
	binary string
	p      *Process
}

// StartNode starts a node on dir, or on a new directory when dir is empty, with free ports and the given flags of serve, and waits until it
// is ready. It is killed at the end of the test.
func StartNode(t testing.TB, dir string, flags ...string) *Node {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	n := &Node{Dir: dir, t: t, binary: Binary(t)}
	n.start(flags)
	return n
}

func (n *Node) start(flags []string) {
	n.t.Helper()
	n.startUntil(flags, "the node to be ready", func() bool {
		status, _ := n.Admin(http.MethodGet, "/readyz", nil, nil)
		return status == http.StatusOK && n.findListeners()
	})
}

func (n *Node) startUntil(flags []string, what string, done func() bool) {
	n.t.Helper()
	args := append([]string{"serve", "--data", n.Dir, "--http", "127.0.0.1:0"}, flags...)
	if !slices.Contains(flags, "--kafka-brokers") { // then it listens to no Kafka client
		args = slices.Insert(args, len(args)-len(flags), "--kafka", "127.0.0.1:0")
	}
	os.Remove(filepath.Join(n.Dir, "admin.sock")) // of a killed node; the next one would answer only later
	n.p = Command(n.t, n.binary, args...)
	Wait(n.t, what, 60*time.Second, func() bool {
		select {
		case <-n.p.Exited:
			n.t.Fatalf("the node went away (%v):\n%s", n.p.err, n.p.Output())
		default:
		}
		return done()
	})
}

// findListeners asks the admin socket where the node listens.
func (n *Node) findListeners() bool {
	var doc struct {
		Listeners map[string]string `json:"listeners"`
	}
	if status, err := n.Admin(http.MethodGet, "/api/v1/status", nil, &doc); err != nil || status != http.StatusOK {
		return false
	}
	n.HTTP, n.Kafka = "http://"+doc.Listeners["http"], doc.Listeners["kafka"]
	return true
}

// Admin makes a request on the admin socket and decodes the JSON answer into out, unless that is nil.
func (n *Node) Admin(method, path string, body io.Reader, out any) (status int, err error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return sock.Dial(ctx, filepath.Join(n.Dir, "admin.sock"))
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(method, "http://weir"+path, body)
	if err != nil {
		return 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(b, out)
	}
	return res.StatusCode, err
}

// Kill ends the process at once, as a power cut would.
func (n *Node) Kill() { n.p.Kill() }

// Stop asks the process to stop and returns how it ended. It fails the test when that takes longer than within.
func (n *Node) Stop(within time.Duration) error {
	n.t.Helper()
	n.p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.p.Exited:
		return n.p.err
	case <-time.After(within):
		n.t.Fatalf("the node is still running %s after SIGTERM", within)
		return nil
	}
}

// Restart starts the node again on its directory, with other flags if any, after Kill or Stop.
func (n *Node) Restart(flags ...string) {
	n.t.Helper()
	n.start(flags)
}

// RestartUnready is Restart of a node that is not expected to be ready: it waits until the node says where it listens.
func (n *Node) RestartUnready(flags ...string) {
	n.t.Helper()
	n.startUntil(flags, "the node to listen", n.findListeners)
}

// Log returns what the process has printed since its last start.
func (n *Node) Log() string { return n.p.Output() }

// Run runs a command of the binary against this node and returns what it printed to standard output. The test fails when the command does.
func (n *Node) Run(stdin string, args ...string) string {
	n.t.Helper()
	out, errOut, err := n.Try(stdin, args...)
	if err != nil {
		n.t.Fatalf("weir %s: %v\n%s", strings.Join(args, " "), err, errOut)
	}
	return out
}

// Try is Run for commands that may fail.
func (n *Node) Try(stdin string, args ...string) (stdout, stderr string, err error) {
	return Exec(n.t, n.binary, stdin, []string{"WEIR_DATA=" + n.Dir, "WEIR_BROKERS=" + n.Kafka}, args...)
}
