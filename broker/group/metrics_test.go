package group

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

func TestMetricsCountGroupsAndCommits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		n := start(t, newMemTopic(1), func(c *Config) { c.Registry = reg })
		ids, gen := n.stable(joinReq(""), joinReq(""))
		n.commit(ids[0], gen, "hits", 0, 1)
		n.commit(ids[0], gen+1, "hits", 0, 1)
		n.part.Set(func() { n.part.AppendErr = led.ErrNotWritten })
		n.commit(ids[0], gen, "hits", 0, 1)
		got := map[string]float64{}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					name += "/" + l.GetValue()
				}
				got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		for name, want := range map[string]float64{
			"weir_group_groups/Stable": 1, "weir_group_groups/Empty": 0, "weir_group_members": 2, "weir_group_rebalances_total": 1,
			"weir_group_commits_total/ok": 1, "weir_group_commits_total/refused": 1, "weir_group_commits_total/failed": 1,
			"weir_group_writes_total/ok": 2, "weir_group_writes_total/failed": 1, "weir_group_loads_total/ok": 1,
			"weir_group_write_queue_bytes": 0,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	})
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no partitions":   func(c *Config) { c.Partitions = nil },
		"sessions":        func(c *Config) { c.MaxSession = c.MinSession - 1 },
		"rebalance delay": func(c *Config) { c.InitialRebalanceDelay = -1 },
		"group size":      func(c *Config) { c.MaxGroupSize = 0 },
		"retention":       func(c *Config) { c.OffsetsRetention = 0 },
		"queue":           func(c *Config) { c.QueueBytes = 0 },
	} {
		cfg := testConfig(newMemTopic(1))
		change(&cfg)
		if _, err := New(cfg); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: error %v, want ErrInvalidConfig", name, err)
		}
	}
}

func TestHangUpWhileWaitingForTheAssignment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		a, b := n.newID(), n.newID()
		ja, jb := n.joinLater(joinReq(a)), n.joinLater(joinReq(b))
		leader, follower := (<-ja).LeaderID, b
		<-jb
		if leader == b {
			follower = a
		}
		ctx, hangUp := context.WithCancel(t.Context())
		ch := later(func() *kmsg.SyncGroupResponse {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Version, req.Group, req.MemberID, req.Generation = 5, testGroup, follower, 1
			return n.SyncGroup(ctx, req)
		})
		synctest.Wait()
		hangUp()
		<-ch
		n.syncAll([]string{leader}, 1, leader, map[string]string{leader: "x", follower: "y"})
		if got := <-n.syncLater(follower, 1, nil); string(got.MemberAssignment) != "y" {
			t.Errorf("asked again: assignment %q, want y", got.MemberAssignment)
		}
	})
}
