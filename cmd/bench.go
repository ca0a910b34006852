package cmd

import (
	"bufio"
	"context"
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
	rounds      int
	only        string
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
from a hit to its count. The node syncs to disk before it answers. A second node takes hits in without counting them, to tell what collecting
takes from what counting takes. The servers are measured in turns, for some rounds; each figure is the middle one of the rounds.

Before that, counting alone: hits of several kinds of traffic lie in a log, and the CPU time is measured that it takes to count them, beside
decoding the same hits in memory and adding each to three counters.`,
	}
	c.Flags().IntVar(&f.seconds, "seconds", 5, "how long each measurement takes, 1 to 600")
	c.Flags().IntVar(&f.rounds, "rounds", 3, "how often each measurement is repeated, 1 to 100")
	c.Flags().Var(oneOfValue{&f.only, []string{"", "counting", "singles", "batches"}}, "only", "measure counting, singles or batches (default: all)")
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
		if f.rounds < 1 || f.rounds > 100 {
			return usagef("--rounds: %d, 1 to 100 are allowed", f.rounds)
		}
		report, err := runBench(c.Context(), f, c.ErrOrStderr())
		if err != nil {
			return err
		}
		return show(c, f.asJSON, report, report.print)
	}
	c.AddCommand(&cobra.Command{Use: "bare-handler", Hidden: true, Args: exactly(0), RunE: func(c *cobra.Command, _ []string) error {
		return serveBare(c.Context(), c.OutOrStdout())
	}})
	return c
}

// benchRow compares the node with the bare handler.
type benchRow struct {
	Name  string    `json:"name"`
	Bare  benchSide `json:"bare"`
	Weir  benchSide `json:"weir"`
	Taken benchSide `json:"weir_not_counting"`
}

// benchSide is one server of a row: the middle one of its rounds.
type benchSide struct {
	PerSecond float64 `json:"per_second"`
	Ratio     float64 `json:"ratio"` // to the bare handler in the same round
	P50Millis float64 `json:"p50_ms"`
	P99Millis float64 `json:"p99_ms"`
	CPUMicros float64 `json:"cpu_us"` // of the server, for one hit; 0 where it is not known
}

type benchReport struct {
	Version     string     `json:"version"`
	CPUs        int        `json:"cpus"`
	Go          string     `json:"go"`
	Dir         string     `json:"dir"`
	Load        string     `json:"load,omitempty"` // of the machine before the start
	Seconds     int        `json:"seconds"`
	Rounds      int        `json:"rounds"`
	Connections int        `json:"connections"`
	Rows        []benchRow `json:"rows"`

	Counting []countingRow `json:"counting,omitempty"`

	VisibleMedian float64 `json:"visible_median_seconds"` // from sending a hit to seeing it in the counts
	VisibleMax    float64 `json:"visible_max_seconds"`
	DrainSeconds  float64 `json:"drain_seconds"` // from the last batch to its hits in the counts
}

func runBench(ctx context.Context, f benchFlags, progress io.Writer) (*benchReport, error) {
	b := Version()
	report := &benchReport{Version: b.Version, CPUs: runtime.NumCPU(), Go: b.Go, Load: bench.MachineLoad(), Seconds: f.seconds, Rounds: f.rounds,
		Connections: f.connections}
	dir, err := os.MkdirTemp(f.dir, "weir-bench-")
	if err != nil {
		return nil, fmt.Errorf("make the temporary directory: %w", err)
	}
	report.Dir = filepath.Dir(dir)
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.only == "" || f.only == "counting" {
		if report.Counting, err = countAlone(ctx, dir, progress); err != nil || f.only != "" {
			return report, err
		}
	}
	m := &measuring{benchFlags: f, progress: progress}
	defer func() {
		for _, s := range []*benchServer{&m.bare, &m.weir, &m.taken} {
			if s.stop != nil {
				s.stop()
			}
		}
	}()
	if m.bare, err = startBare(ctx); err != nil {
		return nil, err
	}
	if m.weir, m.a, err = startBenchNode(ctx, filepath.Join(dir, "counting")); err != nil {
		return nil, err
	}
	if m.taken, _, err = startBenchNode(ctx, filepath.Join(dir, "taking"), "--counting=false"); err != nil {
		return nil, err
	}
	return report, m.measure(ctx, report)
}

func (m *measuring) measure(ctx context.Context, report *benchReport) (err error) {
	if report.VisibleMedian, report.VisibleMax, err = m.visible(ctx, 20); err != nil {
		return fmt.Errorf("from hit to count: %w", err)
	}
	if m.only != "batches" {
		row, err := m.compare(ctx, "one hit a request", bench.Singles("/api/event", benchSite, 2000), bench.Singles("/read", benchSite, 2000), 1, m.connections)
		if err != nil {
			return err
		}
		report.Rows = append(report.Rows, row)
	}
	if m.only != "singles" {
		const perBatch, batches, batchConnections = 1000, 64, 8
		row, err := m.compare(ctx, "1000 clicks a request", bench.Batches("/api/clicks", benchSite, batches, perBatch, time.Now()),
			bench.Batches("/parse", benchSite, batches, perBatch, time.Now()), perBatch, min(batchConnections, m.connections))
		if err != nil {
			return err
		}
		report.Rows = append(report.Rows, row)
	}
	began := time.Now()
	if _, _, err = m.visible(ctx, 1); err != nil {
		return fmt.Errorf("wait for the counts of the last hits: %w", err)
	}
	report.DrainSeconds = time.Since(began).Seconds()
	return nil
}

// measuring is a bench under way.
type measuring struct {
	benchFlags
	progress          io.Writer
	bare, weir, taken benchServer
	a                 *api  // of weir
	hits              int64 // pages of visible so far
}

// benchServer is one process that is measured.
type benchServer struct {
	addr string // HOST:PORT
	pid  int
	stop func()
}

// startBenchNode starts this binary as a node and adds the site.
func startBenchNode(ctx context.Context, dir string, more ...string) (s benchServer, a *api, err error) {
	exe, err := os.Executable()
	if err != nil {
		return s, nil, err
	}
	args := append([]string{"serve", "--data", dir, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--log-level", "error"}, more...)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return s, nil, fmt.Errorf("start a node: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	s.pid = cmd.Process.Pid
	s.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-exited
	}
	a, s.addr, err = connectBench(ctx, dir, exited)
	if err != nil {
		s.stop()
		return benchServer{}, nil, err
	}
	return s, a, nil
}

// connectBench waits until the node is ready, finds its address and adds the site.
func connectBench(ctx context.Context, dir string, exited <-chan struct{}) (a *api, addr string, err error) {
	for {
		if a, err = (&reach{data: []string{dir}}).connect(); err == nil {
			if err = a.call(ctx, http.MethodGet, "/readyz", nil, nil); err == nil {
				break
			}
		}
		select {
		case <-exited:
			return nil, "", errors.New("the node went away; it says why above")
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	var status struct {
		Listeners map[string]string `json:"listeners"`
	}
	if err := a.call(ctx, http.MethodGet, "/api/v1/status", nil, &status); err != nil {
		return nil, "", err
	}
	return a, status.Listeners["http"], a.call(ctx, http.MethodPost, "/api/v1/sites", map[string]string{"name": benchSite, "timezone": "UTC"}, nil)
}

// compare measures the servers in turns.
func (m *measuring) compare(ctx context.Context, name string, weir, bare [][]byte, perRequest, connections int) (benchRow, error) {
	d := time.Duration(m.seconds) * time.Second
	var sides [3][]benchSide
	for round := range m.rounds {
		fmt.Fprintf(m.progress, "%s, round %d of %d: bare handler, weir without counting, weir, %s each\n", name, round+1, m.rounds, d)
		for i, s := range []struct {
			server   benchServer
			requests [][]byte
		}{{m.bare, bare}, {m.taken, weir}, {m.weir, weir}} { // the one that counts is last, so that what is left to count can be timed
			before := bench.CPUTime(s.server.pid)
			load, err := bench.Run(ctx, s.server.addr, s.requests, perRequest, connections, d)
			if err != nil {
				return benchRow{}, fmt.Errorf("%s, %s: %w", name, []string{"bare handler", "weir without counting", "weir"}[i], err)
			}
			sides[i] = append(sides[i], sideOf(load, bench.CPUTime(s.server.pid)-before))
			sides[i][round].Ratio = sides[i][round].PerSecond / sides[0][round].PerSecond
		}
	}
	return benchRow{Name: name, Bare: middle(sides[0]), Taken: middle(sides[1]), Weir: middle(sides[2])}, nil
}

// sideOf is one measurement, but for its ratio. cpu is what the server took.
func sideOf(load bench.Load, cpu time.Duration) benchSide {
	return benchSide{PerSecond: load.PerSecond(), P50Millis: float64(load.P50.Microseconds()) / 1000, P99Millis: float64(load.P99.Microseconds()) / 1000,
		CPUMicros: float64(cpu.Nanoseconds()) / 1000 / float64(load.Events)}
}

// middle takes the middle one of each figure.
func middle(sides []benchSide) benchSide {
	of := func(figure func(benchSide) float64) float64 {
		var list []float64
		for _, s := range sides {
			list = append(list, figure(s))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return benchSide{
		PerSecond: of(func(s benchSide) float64 { return s.PerSecond }),
		Ratio:     of(func(s benchSide) float64 { return s.Ratio }),
		P50Millis: of(func(s benchSide) float64 { return s.P50Millis }),
		P99Millis: of(func(s benchSide) float64 { return s.P99Millis }),
		CPUMicros: of(func(s benchSide) float64 { return s.CPUMicros }),
	}
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
		if err := demoPost(ctx, "http://"+m.weir.addr+"/api/event", "text/plain", agent, body); err != nil {
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
	fmt.Fprintf(w, "weir %s, %d CPUs shared with the load generator, %s, data on %s, synced before each answer\n", r.Version, r.CPUs, r.Go, r.Dir)
	fmt.Fprintf(w, "middle of %d rounds of %d s each; load of the machine before: %s\n\n", r.Rounds, r.Seconds, r.Load)
	printCounting(w, r.Counting)
	if len(r.Rows) == 0 {
		return
	}
	t := table{head: []string{"", "A SECOND", "RATIO", "P50", "P99", "CPU A HIT"}}
	for _, row := range r.Rows {
		for _, side := range []struct {
			name string
			benchSide
		}{{"bare handler", row.Bare}, {"weir", row.Weir}, {"weir, not counting", row.Taken}} {
			t.add(row.Name+", "+side.name, fmt.Sprintf("%.0f", side.PerSecond), fmt.Sprintf("%.2f", side.Ratio), fmt.Sprintf("%.1f ms", side.P50Millis),
				fmt.Sprintf("%.1f ms", side.P99Millis), fmt.Sprintf("%.2f us", side.CPUMicros))
		}
	}
	t.print(w)
	fmt.Fprintf(w, "\nfrom hit to count: median %.3f s, longest of 20 %.3f s\nall counted %.1f s after the last request\n", r.VisibleMedian, r.VisibleMax, r.DrainSeconds)
}

// startBare starts this binary as the bare handler.
func startBare(ctx context.Context) (s benchServer, err error) {
	exe, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, exe, "bench", "bare-handler")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, fmt.Errorf("start the bare handler: %w", err)
	}
	s.pid = cmd.Process.Pid
	s.stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return benchServer{}, fmt.Errorf("start the bare handler: %w", err)
	}
	s.addr = strings.TrimSpace(line)
	return s, nil
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
