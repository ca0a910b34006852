package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"github.com/weir-analytics/weir/internal/testkit"
)

// disk is a disk of its own that can be pulled and plugged in again: what is on it stays.
type disk struct {
	t     *testing.T
	store string // where its files are
	at    string // where it is mounted
}

func newDisk(t *testing.T, sizeMiB int) *disk {
	t.Helper()
	d := &disk{t: t, store: t.TempDir(), at: t.TempDir()}
	if err := unix.Mount("tmpfs", d.store, "tmpfs", 0, fmt.Sprintf("size=%dm", sizeMiB)); err != nil {
		t.Skip("no disk of its own can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(d.store, unix.MNT_DETACH) })
	d.plug()
	t.Cleanup(func() { _ = unix.Unmount(d.at, unix.MNT_DETACH) })
	return d
}

func (d *disk) plug() {
	d.t.Helper()
	if err := unix.Mount(d.store, d.at, "", unix.MS_BIND, ""); err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) pull() {
	d.t.Helper()
	if err := unix.Unmount(d.at, unix.MNT_DETACH); err != nil {
		d.t.Fatal(err)
	}
}

// spread is where the partitions of a topic are, by directory.
func spread(t *testing.T, admin *kadm.Client, topic string) (at map[string][]int32, failed map[string]error) {
	t.Helper()
	all, err := admin.DescribeAllLogDirs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at, failed = map[string][]int32{}, map[string]error{}
	for _, dirs := range all {
		for path, dir := range dirs {
			path = filepath.Dir(path)
			failed[path] = dir.Err
			for n := range dir.Topics[topic] {
				at[path] = append(at[path], n)
			}
			slices.Sort(at[path])
		}
	}
	return at, failed
}

// sendTo writes one record to a partition.
func sendTo(t *testing.T, c *kgo.Client, topic string, partition int32, value string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return c.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}).FirstErr()
}

func newSender(t *testing.T, n *testkit.Node) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// works says whether records reach every one of some partitions.
func works(t *testing.T, n *testkit.Node, partitions []int32, value string) error {
	c := newSender(t, n)
	defer c.Close()
	var errs []error
	for _, p := range partitions {
		if err := sendTo(t, c, "orders", p, value); err != nil {
			errs = append(errs, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	return errors.Join(errs...)
}

// Each of two disks in turn fills up, goes away while the node runs, and is missing at its start. Partitions of the other one are served all
// the time, and the node says which disk and which partitions do not work; once the disk is back everything goes on without a restart.
func TestADiskThatFailsStopsOnlyItsOwnPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("pulls disks for seconds")
	}
	one, two := newDisk(t, 400), newDisk(t, 400)
	first, second := filepath.Join(one.at, "data"), filepath.Join(two.at, "weir")
	n := testkit.StartNode(t, first, "--data", second)
	n.Run("", "topics", "create", "orders", "--partitions", "8")
	client, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	at, _ := spread(t, admin, "orders")
	here, there := at[first], at[second]
	if len(here) != 4 || len(there) != 4 {
		t.Fatalf("partitions are spread as %v", at)
	}
	all := slices.Concat(here, there)
	if err := works(t, n, all, "before"); err != nil {
		t.Fatal(err)
	}
	down := func(what string) {
		t.Helper()
		testkit.Wait(t, what, 20*time.Second, func() bool {
			status, text := readyText(n)
			return status == http.StatusServiceUnavailable && strings.Contains(text, "data directory "+second)
		})
		if err := works(t, n, here, what); err != nil {
			t.Fatalf("%s: partitions of the other disk: %v\n%s", what, err, n.Log())
		}
		c := newSender(t, n)
		for _, p := range there {
			if err := sendTo(t, c, "orders", p, "lost"); err == nil || !kerr.IsRetriable(err) && !errors.Is(err, kgo.ErrRecordRetries) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: partition %d of the disk: %v", what, p, err)
			}
		}
	}
	up := func(what string) {
		t.Helper()
		testkit.Wait(t, what, 30*time.Second, func() bool {
			status, _ := readyText(n)
			return status == http.StatusOK
		})
		if err := works(t, n, all, what); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, n.Log())
		}
	}
	named := func(what string) {
		t.Helper()
		testkit.Wait(t, what+": /readyz names the partitions", 20*time.Second, func() bool { // at the start they are opened one by one
			_, text := readyText(n)
			return !slices.ContainsFunc(there, func(p int32) bool { return !strings.Contains(text, fmt.Sprint("orders-", p)) })
		})
		if _, failed := spread(t, admin, "orders"); failed[first] != nil || !errors.Is(failed[second], kerr.KafkaStorageError) {
			t.Errorf("%s: directories are described as %v", what, failed)
		}
	}

	fillDisk(t, filepath.Join(two.at, "filler"))
	down("the second disk is full")
	os.Remove(filepath.Join(two.at, "filler"))
	up("there is room again")

	two.pull()
	down("the second disk is pulled")
	named("pulled")
	two.plug()
	up("the second disk is back")

	client.Close()
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	two.pull()
	n.RestartUnready("--data", second)
	if client, err = kgo.NewClient(kgo.SeedBrokers(n.Kafka)); err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin = kadm.NewClient(client)
	down("the second disk is missing at the start")
	named("missing")
	if left, _ := os.ReadDir(two.at); len(left) > 0 {
		t.Errorf("something was made on the mount point of the missing disk: %v", left)
	}
	n.Run("", "topics", "create", "later", "--partitions", "2") // has its place on the disk that is there
	two.plug()
	up("the second disk is back after a start without it")
	for _, want := range []string{"before", "there is room again", "the second disk is back", "the second disk is back after a start without it"} {
		out := n.Run("", "consume", "orders", "--raw")
		if got := strings.Count(out, want+"\n"); got != len(all) {
			t.Errorf("%q is there %d times, want %d", want, got, len(all))
		}
	}

	// A partition that is nowhere, with all disks in place, is not begun anew.
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(topicDir(t, second, "orders"), fmt.Sprint(there[0]))
	if err := os.Rename(gone, filepath.Join(two.at, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	n.RestartUnready("--data", second)
	testkit.Wait(t, "the missing partition to be named", 20*time.Second, func() bool {
		status, text := readyText(n)
		return status == http.StatusServiceUnavailable && strings.Contains(text, "it is in none of the data directories")
	})
	if err := works(t, n, slices.Concat(here, there[1:]), "one is missing"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("the missing partition was made anew")
	}
}
