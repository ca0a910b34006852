package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/raftfsm/state"
)

func open(t *testing.T) (*Log, *kfake.Cluster) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	l, err := Open(Options{Brokers: cluster.ListenAddrs()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, cluster
}

func prepared(t *testing.T) (*Log, *kfake.Cluster) {
	t.Helper()
	l, cluster := open(t)
	if _, err := l.Append(t.Context(), "hits", 0, records(1)); !errors.Is(err, ingest.ErrNotWritten) {
		t.Errorf("append before the topics are known: %v", err)
	}
	if ok, why := l.Check(); ok || why == "" {
		t.Errorf("ready before the topics are known: %q", why)
	}
	if err := l.Prepare(t.Context(), []state.TopicSpec{{Name: "hits", Partitions: 3, ReplicationFactor: -1}}, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if ok, _ := l.Check(); !ok || l.Partitions("hits") != 3 || l.Partitions("other") != 0 {
		t.Errorf("after Prepare: ready %v, partitions %d and %d", ok, l.Partitions("hits"), l.Partitions("other"))
	}
	return l, cluster
}

func records(n int) []ingest.Record {
	list := make([]ingest.Record, n)
	for i := range list {
		list[i] = ingest.Record{Key: []byte("k"), Value: fmt.Appendf(nil, "value %d", i), TimestampMs: 1_700_000_000_000 + int64(i)}
	}
	return list
}

// Offsets go on from append to append, the bytes are the caller's again, and what is read is what was written.
func TestAppendsAreReadBackInOrder(t *testing.T) {
	l, cluster := prepared(t)
	for i, want := range []int64{0, 5, 10} {
		recs := records(5)
		base, err := l.Append(t.Context(), "hits", 2, recs)
		if err != nil || base != want {
			t.Fatalf("append %d: offset %d, %v; want %d", i, base, err, want)
		}
		for _, r := range recs {
			clear(r.Value)
		}
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"hits": {2: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n := int64(0); n < 15; {
		for _, r := range c.PollFetches(t.Context()).Records() {
			if want := fmt.Sprint("value ", n%5); string(r.Value) != want || r.Offset != n || string(r.Key) != "k" {
				t.Errorf("record %d: %q at %d, want %q", n, r.Value, r.Offset, want)
			}
			n++
		}
	}
}

// What the cluster refuses for what it is was not written; what it may have taken is unknown.
func TestRefusedAndUnknownStayApart(t *testing.T) {
	l, cluster := prepared(t)
	answer := func(code int16) {
		cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			produce := req.(*kmsg.ProduceRequest)
			resp := produce.ResponseKind().(*kmsg.ProduceResponse)
			for _, topic := range produce.Topics {
				rt := kmsg.NewProduceResponseTopic()
				rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
				for _, p := range topic.Partitions {
					rp := kmsg.NewProduceResponseTopicPartition()
					rp.Partition, rp.ErrorCode = p.Partition, code
					rt.Partitions = append(rt.Partitions, rp)
				}
				resp.Topics = append(resp.Topics, rt)
			}
			return resp, nil, true
		})
	}
	answer(kerr.MessageTooLarge.Code)
	if _, err := l.Append(t.Context(), "hits", 0, records(3)); !errors.Is(err, ingest.ErrNotWritten) || errors.Is(err, ingest.ErrOutcomeUnknown) {
		t.Errorf("a record that is too large: %v", err)
	}
	l, cluster = prepared(t)
	answer(kerr.TopicAuthorizationFailed.Code)
	if _, err := l.Append(t.Context(), "hits", 0, records(3)); !errors.Is(err, ingest.ErrOutcomeUnknown) {
		t.Errorf("an answer that says nothing of earlier tries: %v", err)
	}
	l, _ = prepared(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ended, "hits", 1, records(3)); err == nil || errors.Is(err, ingest.ErrNotWritten) {
		t.Errorf("an append whose time is over: %v", err)
	}
}

// The cluster is accepted before anything is written to it.
func TestARefusedClusterIsLeftAlone(t *testing.T) {
	l, cluster := open(t)
	asked := false
	cluster.ControlKey(int16(kmsg.CreateTopics), func(kmsg.Request) (kmsg.Response, error, bool) { asked = true; return nil, nil, false })
	err := l.Prepare(t.Context(), []state.TopicSpec{{Name: "hits", Partitions: 1, ReplicationFactor: -1}}, func(id string) error {
		if id == "" {
			t.Error("the cluster has no id")
		}
		return errors.New("not this one")
	})
	if err == nil || err.Error() != "not this one" || asked {
		t.Errorf("Prepare: %v, topics asked for: %v", err, asked)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	brokers := []string{"kafka:9092"}
	for _, c := range []struct {
		opts Options
		want string // "" is fine
	}{
		{Options{}, ""},
		{Options{Brokers: brokers}, ""},
		{Options{Brokers: brokers, TLS: true, CA: "ca.pem", Cert: "c.pem", Key: "k.pem", Mechanism: "PLAIN", User: "a", Password: "b"}, ""},
		{Options{Brokers: []string{"kafka"}}, "want HOST:PORT"},
		{Options{Brokers: []string{":9092"}}, "want HOST:PORT"},
		{Options{Brokers: []string{"kafka:99999"}}, "want HOST:PORT"},
		{Options{TLS: true}, "--kafka-brokers: it is missing"},
		{Options{Brokers: brokers, CA: "ca.pem"}, "--kafka-brokers-tls"},
		{Options{Brokers: brokers, TLS: true, Cert: "c.pem"}, "give both"},
		{Options{Brokers: brokers, Mechanism: "GSSAPI", User: "a", Password: "b"}, "allowed are PLAIN"},
		{Options{Brokers: brokers, User: "a"}, "--kafka-brokers-sasl: it is missing"},
		{Options{Brokers: brokers, Mechanism: "PLAIN", User: "a"}, "--kafka-brokers-password-file"},
	} {
		err := c.opts.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.opts, err, c.want)
		}
	}
	missing := Options{Brokers: brokers, TLS: true, CA: "/nowhere/ca.pem"}
	if _, err := Open(missing, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--kafka-brokers-ca") {
		t.Errorf("a CA file that is not there: %v", err)
	}
}
