package raftfsm

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// clock is a settable now.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start opens and runs a controller until the test ends or the returned function is called.
func start(t *testing.T, cfg Config) (*Controller, func()) {
	t.Helper()
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	select {
	case <-c.Ready():
	case <-time.After(20 * time.Second):
		t.Fatal("the controller is not ready after 20 s")
	}
	return c, stop
}

func testConfig(dir string) (Config, *clock) {
	cfg := Default(dir)
	clk := &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	cfg.Now = clk.Now
	return cfg, clk
}

func TestEverythingAgreedOnSurvivesARestart(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	cfg.SnapshotEvery = 4
	ctx := t.Context()
	c, stop := start(t, cfg)
	retention := "60000"
	topic, err := c.CreateTopic(ctx, state.TopicSpec{Name: "events", Partitions: 8, ReplicationFactor: -1, Configs: map[string]*string{"retention.ms": &retention, "segment.bytes": nil}})
	if err != nil || topic.Configs["retention.ms"] != "60000" || len(topic.Configs) != 1 {
		t.Fatalf("CreateTopic = %+v, %v", topic, err)
	}
	user, site, err := c.CompleteSetup(ctx, Setup{Email: "a@b.c", PasswordHash: "h", Site: "a.example", Timezone: "Europe/Berlin"})
	if err != nil || user.Role != state.RoleAdmin || site.ID != 1 {
		t.Fatalf("CompleteSetup = %+v, %+v, %v", user, site, err)
	}
	if _, err := c.AddToken(ctx, "ci", []state.Scope{state.ScopeStats}, [32]byte{1}); err != nil {
		t.Fatal(err)
	}
	first, err := c.AllocateProducerIDs(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := c.State()
	stop()

	c, _ = start(t, cfg)
	if got := c.State(); !reflect.DeepEqual(got, want) {
		t.Errorf("after the restart: %+v\nwant %+v", got, want)
	}
	if again, err := c.AllocateProducerIDs(ctx, 1); err != nil || again != first+10 {
		t.Errorf("producer id %d, %v, want %d", again, err, first+10)
	}
}

func TestChangedIsClosedAndStateShowsTheChange(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	c, _ := start(t, cfg)
	changed := c.Changed()
	if _, err := c.AddSite(t.Context(), "a.example", "UTC"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("Changed is still open after AddSite returned")
	}
	if _, ok := c.State().SiteByName("a.example"); !ok {
		t.Error("State does not show the site after AddSite returned")
	}
	changed = c.Changed()
	if _, err := c.AddSite(t.Context(), "a.example", "UTC"); !errors.Is(err, state.ErrExists) {
		t.Errorf("AddSite again: %v, want ErrExists", err)
	}
	select {
	case <-changed:
		t.Error("a refused change closed Changed")
	default:
	}
}

func TestChangesAreRefusedWithAReason(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	c, _ := start(t, cfg)
	var inv state.ErrInvalid
	if _, err := c.AddSite(t.Context(), "a.example", "Mars/Olympus"); !errors.As(err, &inv) || inv.Field != "timezone" {
		t.Errorf("zone: %v", err)
	}
	if _, err := c.CreateTopic(t.Context(), state.TopicSpec{Name: "x", Partitions: 1, ReplicationFactor: 3}); !errors.As(err, &inv) || inv.Field != "replication_factor" {
		t.Errorf("replication factor: %v", err)
	}
	if err := c.DeleteTopic(t.Context(), "x"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
}

func TestSaltsAreAgreedAheadAndErasedFromTheDisk(t *testing.T) {
	cfg, clk := testConfig(t.TempDir())
	c, _ := start(t, cfg)
	if _, err := c.AddSite(t.Context(), "a.example", "Pacific/Kiritimati"); err != nil {
		t.Fatal(err)
	}
	for _, day := range []state.Day{"2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"} {
		if _, ok := c.State().Salt(day); !ok {
			t.Errorf("no salt for %s", day)
		}
	}
	today, _ := c.State().Salt("2026-03-04")
	clk.Add(24 * time.Hour)
	if err := c.agreeSalts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if still, ok := c.State().Salt("2026-03-04"); !ok || still != today {
		t.Error("yesterday's salt changed or is gone while visits of that day may be open")
	}
	clk.Add(24 * time.Hour)
	if err := c.agreeSalts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.State().Salt("2026-03-04"); ok {
		t.Error("the salt of the day before yesterday is still there")
	}
	for _, enc := range [][]byte{today.Key[:], jsonArray(today.Key)} {
		within(t, "the erased salt to be gone from the files", func() bool { return fileWith(t, cfg.DataDir, enc) == "" })
	}
	kept, _ := c.State().Salt("2026-03-06")
	if fileWith(t, cfg.DataDir, jsonArray(kept.Key)) == "" {
		t.Error("a kept salt is in no file: this test looks for the wrong bytes")
	}
	if _, err := c.AddSite(t.Context(), "b.example", "UTC"); err != nil {
		t.Errorf("after compaction: %v", err)
	}
}

// jsonArray is how a key appears in commands and snapshots.
func jsonArray(key [16]byte) []byte {
	var b bytes.Buffer
	for i, v := range key {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(v)))
	}
	return b.Bytes()
}

func fileWith(t *testing.T, dir string, want []byte) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // files are replaced meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(b, want) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOpenRefusesADirectoryThatIsNotOurs(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "thesis.odt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(cfg); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("foreign file: %v, want ErrNotEmpty", err)
	}
	cfg.DataDir = t.TempDir()
	cfg.ClusterID = "configured"
	if _, err := Open(cfg); !errors.Is(err, ErrIdentity) {
		t.Errorf("empty directory with a configured cluster: %v, want ErrIdentity", err)
	}
}

func TestOpenRefusesLostDataAndAnotherIdentity(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	c, stop := start(t, cfg)
	id := c.ClusterID()
	if _, err := Open(cfg); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v, want ErrLocked", err)
	}
	stop()
	other := cfg
	other.NodeID = 2
	if _, err := Open(other); !errors.Is(err, ErrIdentity) {
		t.Errorf("other node id: %v, want ErrIdentity", err)
	}
	other = cfg
	other.ClusterID = id
	if c, err := Open(other); err != nil {
		t.Errorf("own cluster id: %v", err)
	} else if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(cfg.DataDir, "controller", "raft.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(cfg); !errors.Is(err, ErrDataLost) {
		t.Errorf("without raft.db: %v, want ErrDataLost", err)
	}
}

func TestAStartThatWasCutOffIsTakenUpAgain(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	c, err := Open(cfg) // identity drawn and group bootstrapped, but never run
	if err != nil {
		t.Fatal(err)
	}
	id := c.ClusterID()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ = start(t, cfg)
	if got := c.State().ClusterID; got != id {
		t.Errorf("cluster id %s, want %s", got, id)
	}
}

func TestMetricsAreReleasedOnClose(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	reg := prometheus.NewRegistry()
	cfg.Registerer = reg
	_, stop := start(t, cfg)
	if families, err := reg.Gather(); err != nil || len(families) == 0 {
		t.Errorf("%d metrics, %v", len(families), err)
	}
	stop()
	if families, _ := reg.Gather(); len(families) != 0 {
		t.Errorf("%d metrics are left", len(families))
	}
}

func TestAfterCloseNothingIsDone(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	c, stop := start(t, cfg)
	stop()
	if _, err := c.AddSite(t.Context(), "a.example", "UTC"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("AddSite after Close: %v", err)
	}
}
