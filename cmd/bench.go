package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/cmd/bench"
)

const benchSite = "bench.example"

type benchFlags struct {
	seconds     int
	connections int
	dir         string
	asJSON      bool
}

func benchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use: "bench", Short: "Measure this machine: hits a second, and seconds from a hit to its count", Args: exactly(0),
		Long: `Start a node on a temporary directory and measure it from outside, with the load generator on the same machine: hits one by one and
in batches of 1000 clicks, each beside a bare handler that reads (and for batches parses) the same bodies and answers at once, and the time
from a hit to its count. The node syncs to disk before it answers.`,
	}
	c.Flags().IntVar(&f.seconds, "seconds", 5, "how long each measurement takes, 1 to 600")
	c.Flags().IntVar(&f.connections, "connections", 64, "connections of the generator, 1 to 4096")
	c.Flags().StringVar(&f.dir, "dir", "", "make the temporary directory here: the disk to measure (default: the system's)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON document")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.seconds < 1 || f.seconds > 600 {
			return usagef("--seconds: %d, 1 to 600 are allowed", f.seconds)
		}
		if f.connections < 1 || f.connections > 4096 {
			return usagef("--connections: %d, 1 to 4096 are allowed", f.connections)
		}
		report, err := runBench(c.Context(), f, c.ErrOrStderr())
		if err != nil {
			return err
		}
		if f.asJSON {
			return json.NewEncoder(c.OutOrStdout()).Encode(report)
		}
		report.print(c.OutOrStdout())
		return nil
	}
	c.AddCommand(&cobra.Command{Use: "bare-handler", Hidden: true, Args: exactly(0), RunE: func(c *cobra.Command, _ []string) error {
		return serveBare(c.Context(), c.OutOrStdout())
	}})
	return c
}

// benchRow compares the node with the bare handler.
type benchRow struct {
	Name      string  `json:"name"`
	Bare      float64 `json:"bare_per_second"`
	Weir      float64 `json:"weir_per_second"`
	Ratio     float64 `json:"ratio"`
	P50Millis float64 `json:"p50_ms"` // of one request to the node
	P99Millis float64 `json:"p99_ms"`
}

type benchReport struct {
	Version       string     `json:"version"`
	CPUs          int        `json:"cpus"`
	Go            string     `json:"go"`
	Dir           string     `json:"dir"`
	Seconds       int        `json:"seconds"`
	Connections   int        `json:"connections"`
	Rows          []benchRow `json:"rows"`
	VisibleMedian float64    `json:"visible_median_seconds"` // from sending a hit to seeing it in the counts
	VisibleMax    float64    `json:"visible_max_seconds"`
	DrainSeconds  float64    `json:"drain_seconds"` // from the last batch to its hits in the counts
}

func runBench(ctx context.Context, f benchFlags, progress io.Writer) (*benchReport, error) {
	dir, err := os.MkdirTemp(f.dir, "weir-bench-")
	if err != nil {
		return nil, fmt.Errorf("make the temporary directory: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bare, stopBare, err := startBare(ctx)
	if err != nil {
		return nil, err
	}
	defer stopBare()
	m := &measuring{benchFlags: f, progress: progress, bare: bare, a: nil}
	stopNode, err := m.startNode(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer stopNode()
	b := Version()
	report := &benchReport{Version: b.Version, CPUs: runtime.NumCPU(), Go: b.Go, Dir: filepath.Dir(dir), Seconds: f.seconds, Connections: f.connections}
	if report.VisibleMedian, report.VisibleMax, err = m.visible(ctx, 20); err != nil {
		return nil, fmt.Errorf("from hit to count: %w", err)
	}
	singles := bench.Singles("/api/event", benchSite, 2000)
	row, err := m.compare(ctx, "one hit a request", singles, bench.Singles("/read", benchSite, 2000), 1, f.connections)
	if err != nil {
		return nil, err
	}
	report.Rows = append(report.Rows, row)
	const perBatch, batches, batchConnections = 1000, 64, 8
	row, err = m.compare(ctx, "1000 clicks a request", bench.Batches("/api/clicks", benchSite, batches, perBatch, time.Now()),
		bench.Batches("/parse", benchSite, batches, perBatch, time.Now()), perBatch, min(batchConnections, f.connections))
	if err != nil {
		return nil, err
	}
	report.Rows = append(report.Rows, row)
	began := time.Now()
	if _, _, err = m.visible(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for the counts of the batches: %w", err)
	}
	report.DrainSeconds = time.Since(began).Seconds()
	return report, nil
}

// measuring is a bench under way.
type measuring struct {
	benchFlags
	progress io.Writer
	bare     string // HOST:PORT
	weir     string // HOST:PORT
	a        *api
	hits     int64 // pages of visible so far
}

// startNode starts this binary as a node.
func (m *measuring) startNode(ctx context.Context, dir string) (stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, "serve", "--data", dir, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--log-level", "error")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-exited
	}
	if err := m.connect(ctx, dir, exited); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// connect waits until the node is ready, finds its address and adds the site.
func (m *measuring) connect(ctx context.Context, dir string, exited <-chan struct{}) error {
	for {
		a, err := (&reach{data: dir}).connect()
		if err == nil {
			if err = a.call(ctx, http.MethodGet, "/readyz", nil, nil); err == nil {
				m.a = a
				break
			}
		}
		select {
		case <-exited:
			return errors.New("the node went away; it says why above")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	var status struct {
		Listeners map[string]string `json:"listeners"`
	}
	if err := m.a.call(ctx, http.MethodGet, "/api/v1/status", nil, &status); err != nil {
		return err
	}
	m.weir = status.Listeners["http"]
	return m.a.call(ctx, http.MethodPost, "/api/v1/sites", map[string]string{"name": benchSite, "timezone": "UTC"}, nil)
}

// compare measures the bare handler and then the node.
func (m *measuring) compare(ctx context.Context, name string, weir, bare [][]byte, perRequest, connections int) (benchRow, error) {
	d := time.Duration(m.seconds) * time.Second
	fmt.Fprintf(m.progress, "%s: bare handler, then weir, %s each\n", name, d)
	without, err := bench.Run(ctx, m.bare, bare, perRequest, connections, d)
	if err != nil {
		return benchRow{}, fmt.Errorf("%s, bare handler: %w", name, err)
	}
	with, err := bench.Run(ctx, m.weir, weir, perRequest, connections, d)
	if err != nil {
		return benchRow{}, fmt.Errorf("%s, weir: %w", name, err)
	}
	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return benchRow{Name: name, Bare: without.PerSecond(), Weir: with.PerSecond(), Ratio: with.PerSecond() / without.PerSecond(),
		P50Millis: millis(with.P50), P99Millis: millis(with.P99)}, nil
}

// visible sends hits one by one, each on a page of its own, and waits for each in the counts.
func (m *measuring) visible(ctx context.Context, times int) (median, longest float64, err error) {
	var took []float64
	for range times {
		m.hits++
		page := fmt.Sprintf("/visible/%d", m.hits)
		began := time.Now()
		body := strings.NewReader(fmt.Sprintf(`{"n":"pageview","u":"https://%s%s","d":"%s"}`, benchSite, page, benchSite))
		agent := http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"}}
		if err := demoPost(ctx, "http://"+m.weir+"/api/event", "text/plain", agent, body); err != nil {
			return 0, 0, err
		}
		if err := m.waitForPage(ctx, page); err != nil {
			return 0, 0, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1], nil
}

func (m *measuring) waitForPage(ctx context.Context, page string) error {
	for {
		var doc countsDoc
		if err := m.a.call(ctx, http.MethodGet, sitePath(benchSite)+"/counts?by=page&limit=100000&last=60m", nil, &doc); err != nil {
			return err
		}
		if slices.ContainsFunc(doc.Rows, func(r countRow) bool { return r.Key == page }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (r *benchReport) print(w io.Writer) {
	fmt.Fprintf(w, "weir %s, %d CPUs shared with the load generator, %s, data on %s, synced before each answer\n%d s each\n\n", r.Version, r.CPUs, r.Go, r.Dir, r.Seconds)
	t := table{head: []string{"", "BARE HANDLER", "WEIR", "RATIO", "P50", "P99"}}
	for _, row := range r.Rows {
		t.add(row.Name, fmt.Sprintf("%.0f/s", row.Bare), fmt.Sprintf("%.0f/s", row.Weir), fmt.Sprintf("%.2f", row.Ratio), fmt.Sprintf("%.1f ms", row.P50Millis), fmt.Sprintf("%.1f ms", row.P99Millis))
	}
	t.print(w)
	fmt.Fprintf(w, "\nfrom hit to count: median %.3f s, longest of 20 %.3f s\nall counted %.1f s after the last batch\n", r.VisibleMedian, r.VisibleMax, r.DrainSeconds)
}

// startBare starts this binary as the bare handler and returns its address.
func startBare(ctx context.Context) (addr string, stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, exe, "bench", "bare-handler")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start the bare handler: %w", err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start the bare handler: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// serveBare serves the bare handler on a free port, which it prints, until ctx ends.
func serveBare(ctx context.Context, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	server := &http.Server{Handler: bench.Bare(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
