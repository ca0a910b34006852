package broker

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
)

// disks are directories of one memory, of which each can fail and has the free space it is told.
type disks struct {
	vfs.Hooked
	mem    *vfs.Mem
	broken map[string]*atomic.Bool
	free   map[string]int64
}

func newDisks(dirs ...string) *disks {
	d := &disks{mem: vfs.NewMem(), broken: map[string]*atomic.Bool{}, free: map[string]int64{}}
	for _, dir := range dirs {
		d.broken[dir], d.free[dir] = &atomic.Bool{}, 1<<40
	}
	if err := d.mem.MkdirAll(dirs[0]); err != nil {
		panic(err)
	}
	d.Hooked = vfs.Hooked{FS: d.mem, Before: func(_ vfs.Op, name string) error { return d.fails(name) }}
	return d
}

func (d *disks) disk(name string) string {
	disk, _, _ := strings.Cut(name, "/")
	return disk
}

func (d *disks) fails(name string) error {
	if b := d.broken[d.disk(name)]; b != nil && b.Load() {
		return &pathError{name}
	}
	return nil
}

type pathError struct{ name string }

func (e *pathError) Error() string { return e.name + ": " + syscall.EIO.Error() }
func (*pathError) Unwrap() error   { return syscall.EIO }

func (d *disks) List(dir string) ([]string, error) {
	if err := d.fails(dir); err != nil {
		return nil, err
	}
	return d.mem.List(dir)
}

func (d *disks) Space(dir string) (free, total int64, err error) {
	return d.free[d.disk(dir)], 1 << 41, d.fails(dir)
}

func onDisks(d *disks, dirs ...string) func(*Config) {
	return func(c *Config) { c.DataDir, c.MoreDirs, c.FS = dirs[0], dirs[1:], d }
}

// places is the partitions of a topic by directory.
func places(b *Broker, topic string) map[string][]int32 {
	at := map[string][]int32{}
	for _, dir := range (backend{b}).LogDirs() {
		for _, r := range dir.Replicas {
			if r.Topic == topic {
				at[path.Dir(dir.Path)] = append(at[path.Dir(dir.Path)], r.Partition)
			}
		}
	}
	return at
}

func produceTo(t *testing.T, b *Broker, topic string, partitions []int32) (errs []error) {
	t.Helper()
	for _, n := range partitions {
		p, _ := b.view.Load().ByName[topic].Partition(n)
		_, err := wait(within(t), p.Append(within(t), oneBatch(t)))
		for until := time.Now().Add(10 * time.Second); (errors.Is(err, replica.ErrNotReady) || errors.Is(err, replica.ErrNotLeader)) && time.Now().Before(until); { // opened a moment ago
			<-time.After(time.Millisecond)
			_, err = wait(within(t), p.Append(within(t), oneBatch(t)))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("partition %d: %w", n, err))
		}
	}
	return errs
}

func text(errs []error) string { return fmt.Sprint(errors.Join(errs...)) }

func TestPartitionsAreSpreadOverDirectoriesAndFoundAgain(t *testing.T) {
	d := newDisks("a", "b", "c")
	d.free["c"] = 1 << 41 // goes first among equals
	ctl := newController(t)
	b := startIn(t, "", ctl, onDisks(d, "a", "b", "c"))
	createTopic(t, b, "one", 1)
	if at := places(b, "one"); len(at["c"]) != 1 {
		t.Errorf("the first partition is in %v, want the directory with the most room", at)
	}
	createTopic(t, b, "t", 5)
	at := places(b, "t")
	if len(at["a"]) != 2 || len(at["b"]) != 2 || len(at["c"]) != 1 {
		t.Errorf("partitions are spread as %v", at)
	}
	all := []int32{0, 1, 2, 3, 4}
	if errs := produceTo(t, b, "t", all); errs != nil {
		t.Fatal(text(errs))
	}
	stopNow(b)
	b = startIn(t, "", ctl, onDisks(d, "a", "c", "b")) // in another order
	if again := places(b, "t"); !maps.EqualFunc(again, at, slices.Equal) {
		t.Errorf("after a restart partitions are at %v, want %v", again, at)
	}
	for _, n := range all {
		if p, _ := b.view.Load().ByName["t"].Partition(n); p.HighWatermark() != 1 {
			t.Errorf("partition %d ends at %d", n, p.HighWatermark())
		}
	}
}

func TestAFailingDirectoryStopsOnlyItsOwnPartitions(t *testing.T) {
	d := newDisks("a", "b")
	ctl := newController(t)
	b := startIn(t, "", ctl, onDisks(d, "a", "b"))
	createTopic(t, b, "t", 4)
	at := places(b, "t")
	check := func(when string) {
		t.Helper()
		if errs := produceTo(t, b, "t", at["a"]); errs != nil {
			t.Errorf("%s: the other disk: %s", when, text(errs))
		}
		if errs := produceTo(t, b, "t", at["b"]); len(errs) != len(at["b"]) {
			t.Errorf("%s: the disk: %s", when, text(errs))
		}
		eventually(t, when+": health to name the directory and its partitions", func() bool {
			s := text(b.Failed())
			ok := strings.Contains(s, "data directory b: ")
			for _, n := range at["b"] {
				ok = ok && strings.Contains(s, fmt.Sprint("t-", n))
			}
			return ok && !strings.Contains(s, "data directory a")
		})
		dirs, err := kadm.NewClient(client(t, b)).DescribeAllLogDirs(within(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		bad, good := dirs[1]["b/topics"], dirs[1]["a/topics"]
		if !errors.Is(bad.Err, kerr.KafkaStorageError) || len(bad.Topics["t"]) != len(at["b"]) || good.Err != nil || len(good.Topics["t"]) != len(at["a"]) {
			t.Errorf("%s: directories are described as %+v", when, dirs)
		}
	}
	d.broken["b"].Store(true)
	createTopic(t, b, "meanwhile", 2) // finds the failure before the watch does
	eventually(t, "the partitions to stop, idle as they are", func() bool {
		return len(b.Failed()) >= 1+len(at["b"])
	})
	check("while running")
	d.broken["b"].Store(false)
	eventually(t, "everything to go on", func() bool { return b.Failed() == nil && produceTo(t, b, "t", []int32{0, 1, 2, 3}) == nil })

	stopNow(b)
	d.broken["b"].Store(true)
	b = startIn(t, "", ctl, onDisks(d, "a", "b"))
	check("at the start")
	createTopic(t, b, "later", 2)
	if later := places(b, "later"); len(later["a"]) != 2 {
		t.Errorf("a topic made meanwhile is at %v", later)
	}
	d.broken["b"].Store(false)
	eventually(t, "everything to go on", func() bool { return b.Failed() == nil && produceTo(t, b, "t", []int32{0, 1, 2, 3}) == nil })
	// what the disk holds was found again, not begun anew
	c := client(t, b, kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	want := 0
	for _, n := range []int32{0, 1, 2, 3} {
		p, _ := b.view.Load().ByName["t"].Partition(n)
		want += int(p.HighWatermark())
	}
	got := 0
	for got < want {
		f := c.PollFetches(within(t))
		if f.Err() != nil {
			t.Fatal(f.Err())
		}
		got += f.NumRecords()
	}
	if want < 8 {
		t.Errorf("%d records are left", want)
	}
}

func TestAPartitionThatIsLostOrTwiceThereIsNotOpened(t *testing.T) {
	d := newDisks("a", "b")
	ctl := newController(t)
	b := startIn(t, "", ctl, onDisks(d, "a", "b"))
	createTopic(t, b, "t", 2)
	topic := b.view.Load().ByName["t"].ID
	at := places(b, "t")
	if errs := produceTo(t, b, "t", []int32{0, 1}); errs != nil {
		t.Fatal(text(errs))
	}
	stopNow(b)
	dir := func(disk string, n int32) string {
		return (&dataDir{path: disk}).partition(hardstate.PartitionGroup(topic, n))
	}
	move := func(from, to string, keep bool) {
		t.Helper()
		if err := d.mem.MkdirAll(to); err != nil {
			t.Fatal(err)
		}
		names, err := d.mem.List(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			content, err := vfs.ReadFile(d.mem, path.Join(from, name), 1<<30)
			if err == nil {
				err = vfs.WriteFile(d.mem, to, name, content)
			}
			if err == nil && !keep {
				err = d.mem.Remove(path.Join(from, name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	failed := func(n int32, want string) {
		t.Helper()
		b = startIn(t, "", ctl, onDisks(d, "a", "b"))
		defer stopNow(b)
		if s := text(b.Failed()); !strings.Contains(s, want) || !strings.Contains(s, fmt.Sprintf("partition %d of t", n)) {
			t.Errorf("health says %s, want %q", s, want)
		}
		if errs := produceTo(t, b, "t", []int32{1 - n}); errs != nil {
			t.Errorf("the other partition: %s", text(errs))
		}
		if errs := produceTo(t, b, "t", []int32{n}); errs == nil {
			t.Error("the partition takes records")
		}
	}
	lost := at["b"][0]
	move(dir("b", lost), "a/aside", false)
	failed(lost, "it is in none of the data directories a, b")
	move("a/aside", dir("b", lost), true)
	move("a/aside", dir("a", lost), true)
	failed(lost, errTwoCopies.Error())
	move(dir("b", lost), "b/aside", false) // moved to the other disk by hand, which is allowed
	b = startIn(t, "", ctl, onDisks(d, "a", "b"))
	if errs := produceTo(t, b, "t", []int32{0, 1}); errs != nil || b.Failed() != nil {
		t.Errorf("after the move: %s, %s", text(errs), text(b.Failed()))
	}
	if now := places(b, "t"); len(now["a"]) != 2 {
		t.Errorf("partitions are at %v", now)
	}
}

// Without its first directory the node votes no more, but who leads goes on to.
func TestPartitionsOutliveTheFirstDirectory(t *testing.T) {
	d := newDisks("a", "b")
	b := startIn(t, "", newController(t), onDisks(d, "a", "b"))
	createTopic(t, b, "t", 4)
	at := places(b, "t")
	if errs := produceTo(t, b, "t", []int32{0, 1, 2, 3}); errs != nil {
		t.Fatal(text(errs))
	}
	d.broken["a"].Store(true)
	eventually(t, "the first directory's partitions to stop", func() bool { return len(b.Failed()) >= 1+len(at["a"]) })
	if errs := produceTo(t, b, "t", at["b"]); errs != nil {
		t.Errorf("partitions on the second disk: %s", text(errs))
	}
	d.broken["a"].Store(false)
	eventually(t, "everything to go on", func() bool { return b.Failed() == nil && produceTo(t, b, "t", []int32{0, 1, 2, 3}) == nil })
}

// A group whose partition of __consumer_offsets is on the failing disk is told to ask again later; the coordinators of the others serve.
func TestAGroupOnAFailingDiskIsNotAvailable(t *testing.T) {
	d := newDisks("a", "b")
	ctl := newController(t)
	b := startIn(t, "", ctl, onDisks(d, "a", "b"))
	admin := kadm.NewClient(client(t, b))
	coordinators := func() (errs map[string]error) {
		errs = map[string]error{}
		found := admin.FindGroupCoordinators(within(t), "g1", "g2", "g3", "g4")
		for name, c := range found {
			errs[name] = c.Err
		}
		return errs
	}
	eventually(t, "coordinators", func() bool {
		for _, err := range coordinators() {
			if err != nil {
				return false
			}
		}
		return true
	})
	at := places(b, "__consumer_offsets")
	if len(at["a"]) == 0 || len(at["b"]) == 0 {
		t.Fatalf("partitions of groups are at %v", at)
	}
	stopNow(b)
	d.broken["b"].Store(true)
	b = startIn(t, "", ctl, onDisks(d, "a", "b"))
	admin = kadm.NewClient(client(t, b))
	for name, err := range coordinators() {
		_, n, _ := b.groupPartition(name)
		onB := slices.Contains(at["b"], n)
		if onB && !errors.Is(err, kerr.CoordinatorNotAvailable) || !onB && err != nil {
			t.Errorf("group %s, on the failing disk: %v: %v", name, onB, err)
		}
		if p, _ := b.view.Load().ByName["__consumer_offsets"].Partition(n); onB && p.Phase() != api.Failed {
			t.Errorf("its partition is in phase %v", p.Phase())
		}
	}
}

func TestADirectoryThatIsNotTheNodesIsRefused(t *testing.T) {
	d := newDisks("a", "b", "x")
	stopNow(startIn(t, "", newController(t), onDisks(d, "a", "b")))
	if err := d.mem.MkdirAll("x/y"); err != nil {
		t.Fatal(err)
	}
	other := func(c *Config) { onDisks(d, "a", "b")(c); c.ServerID = "another" }
	for _, c := range []struct {
		name, want string
		change     func(*Config)
	}{
		{"of another node", "it belongs to another node", other},
		{"not empty", `it has "y"`, onDisks(d, "a", "x")},
	} {
		e, err := openEngines(testConfig("", c.change))
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	d.broken["x"].Store(true)
	if _, err := openEngines(testConfig("", onDisks(d, "a", "x"))); !errors.Is(err, syscall.EIO) {
		t.Errorf("a directory that was never used and can't be: %v", err)
	}
}
