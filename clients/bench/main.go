package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// settings of one run.
type settings struct {
	weir, weirFlags, javaLib, dir string
	peers                         []string
	partitions                    int
	records                       int // of 200 bytes; of larger ones as many as have the same bytes
	rounds                        int
}

// sizes of a record's value, in bytes.
var sizes = []int{200, 1024}

func main() {
	var s settings
	var serving, peers, sync string
	flag.StringVar(&s.weir, "weir", "bin/weir", "the binary to measure")
	flag.StringVar(&s.weirFlags, "weir-flags", "", "more flags of weir serve, separated by spaces, such as --debug-http 127.0.0.1:6060 to profile it meanwhile")
	flag.StringVar(&s.javaLib, "java-lib", "", "directory with the jars of Apache Kafka; it is left out when empty")
	flag.StringVar(&s.dir, "dir", "", "make the temporary directory here: the disk to measure")
	flag.StringVar(&peers, "peers", "weir,kfake,kafka,nats,nats-always", "what to measure, in turn")
	flag.IntVar(&s.partitions, "partitions", 6, "partitions of the topic")
	flag.IntVar(&s.records, "records", 300_000, "records of 200 bytes in a round; fewer larger ones, a tenth for NATS, and a five-hundredth for NATS with sync_interval always")
	flag.IntVar(&s.rounds, "rounds", 7, "rounds after the one that warms up")
	flag.StringVar(&serving, "serve", "", "")
	flag.StringVar(&sync, "sync", "", "")
	flag.Parse()
	s.peers = strings.Split(peers, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch serving {
	case "kfake":
		err = serveFake(ctx)
	case "nats":
		err = serveNATS(ctx, s.dir, sync)
	default:
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	s.dir, err = os.MkdirTemp(s.dir, "weir-bench-broker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	if s.javaLib == "" {
		s.peers = slices.DeleteFunc(s.peers, func(p string) bool { return p == "kafka" })
	}
	var all []*peer
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.stop())
		}
	}()
	for _, name := range s.peers {
		start, ok := starters[name]
		if !ok {
			return fmt.Errorf("no peer %q", name)
		}
		p, err := start(ctx, s)
		if err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		p.name = name
		all = append(all, p)
	}
	fmt.Printf("%d cores (%s), %d partitions, load %s, disk %s, weir %s\n", runtime.NumCPU(), cpuModel(), s.partitions, load(), diskOf(s.dir), version(s.weir))
	var t table
	for round := range s.rounds + 1 {
		for _, size := range sizes {
			for _, p := range all {
				fmt.Fprintf(os.Stderr, "round %d of %d, %d bytes, %s: ", round, s.rounds, size, p.name)
				r, err := p.measure(ctx, s.records*sizes[0]/size, size)
				if err != nil {
					return fmt.Errorf("measure %s with %d bytes: %w", p.name, size, err)
				}
				fmt.Fprintln(os.Stderr, r)
				if round > 0 {
					t.add(p.name, size, r)
				}
			}
		}
	}
	fmt.Println("load at the end", load())
	t.print(os.Stdout, s.peers)
	return nil
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:1], " ")
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}

// diskOf names the file system under dir.
func diskOf(dir string) string {
	out, err := exec.Command("df", "--output=fstype,source", dir).Output()
	if err != nil {
		return "unknown"
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(strings.Fields(lines[len(lines)-1]), " on ")
}

func version(binary string) string {
	out, err := exec.Command(binary, "version").Output()
	if err != nil {
		return filepath.Base(binary)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
