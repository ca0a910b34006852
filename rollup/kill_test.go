package rollup

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/internal/oracle"
)

// TestMain runs the process that TestKillNine kills, when asked to.
func TestMain(m *testing.M) {
	flag.Parse()
	if dir := os.Getenv("WEIR_TEST_VICTIM"); dir != "" {
		victim(dir, os.Getenv("WEIR_TEST_ADDR"))
		return
	}
	os.Exit(m.Run())
}

// victim is our own log and the counting room in one process. It says its address and runs until it is killed.
func victim(dir, addr string) {
	t := &plain{}
	own := &ownLog{t: t, dir: dir, addr: addr}
	own.start()
	room, err := Open(Config{Seeds: []string{own.addr}, Dialer: own.dial, Sites: sitesOf(zones), Dir: dir + "/rollup", Log: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- room.Run(ctx) }()
	fmt.Println(own.addr)
	<-done
	if err := room.Close(); err != nil {
		t.Fatal(err)
	}
	own.stop()
}

// plain is as much of testing.TB as a process without a test needs.
type plain struct{ testing.TB }

func (*plain) Helper() {}
func (*plain) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}
func (p *plain) Errorf(format string, args ...any) { p.Fatal(fmt.Sprintf(format, args...)) }

// process starts a victim and returns its address.
func process(t *testing.T, dir, addr string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	if testing.Verbose() {
		cmd.Args = append(cmd.Args, "-test.v")
	}
	cmd.Env = append(os.Environ(), "WEIR_TEST_VICTIM="+dir, "WEIR_TEST_ADDR="+addr)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := bufio.NewScanner(out)
	if !line.Scan() {
		t.Fatal("the process said nothing")
	}
	return cmd, line.Text()
}

// TestKillNine kills the process again and again while hits stream in. In the end the counts equal a recount of the raw log, and nothing
// that was acknowledged is missing from it.
func TestKillNine(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are not killed in short tests")
	}
	t.Parallel()
	lives := 4
	if os.Getenv("WEIR_LONG") != "" {
		lives = 30
	}
	dir := t.TempDir()
	cmd, addr := process(t, dir, "127.0.0.1:0")
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequestRetries(100),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	tr := traffic(9, 26*time.Hour)
	rng := rand.New(rand.NewPCG(9, 9))
	sent := 0
	for range lives {
		for deadline := time.Now().Add(time.Duration(300+rng.IntN(900)) * time.Millisecond); time.Now().Before(deadline); {
			for range 20 {
				partition, h := tr.Next(Partitions)
				sent++
				client.Produce(context.Background(), &kgo.Record{Topic: TopicEvents, Partition: partition, Value: hit.Append(nil, &h)},
					func(_ *kgo.Record, err error) {
						if err != nil {
							t.Errorf("produce: %v", err)
						}
					})
			}
			time.Sleep(5 * time.Millisecond)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		cmd, _ = process(t, dir, addr)
	}
	if err := client.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("acknowledged")
	// A second room, with an empty table, watches the same topics from outside.
	b := newBench(t, &testLog{seeds: []string{addr}})
	b.open()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = b.room.table.Run(ctx) }()
	defer func() { cancel(); <-ended; _ = b.room.Close() }()
	b.recount()
	if logged := total(b.ends); logged != int64(sent) {
		t.Errorf("%d hits were acknowledged, %d are in the log", sent, logged)
	}
	began := time.Now()
	b.settle()
	t.Logf("counted %v after the last start", time.Since(began).Round(time.Millisecond))
	b.check(rng)
	t.Logf("%d hits over %d lives", sent, lives+1)
}

func total(ends map[int32]int64) (sum int64) {
	for _, end := range ends {
		sum += end
	}
	return sum
}

// recount fills the oracle from the raw log.
func (b *bench) recount() {
	b.t.Helper()
	bounds, err := feed.PartitionBounds(context.Background(), b.client, TopicEvents)
	if err != nil {
		b.t.Fatal(err)
	}
	var ranges []feed.Range
	for partition, bound := range bounds {
		ranges = append(ranges, feed.Range{Partition: partition, From: bound.Start, To: bound.End})
		b.ends[partition] = bound.End
	}
	b.oracle = oracle.New(zones)
	_, err = b.room.log.Read(context.Background(), TopicEvents, ranges, func(r *kgo.Record) error {
		var h hit.Hit
		if err := hit.Parse(r.Value, &h); err != nil {
			return err
		}
		b.oracle.Add(r.Partition, h)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
