package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetcher is a connection to a broker, with the session that it has there.
type fetcher struct {
	c  *kgo.Client
	id [16]byte // of the topic t

	session int32
}

// fetchStep is one request of a session.
type fetchStep struct {
	name    string
	produce []int32 // partitions that get a record before
	epoch   int32
	session int32           // added to that of the broker: a wrong one
	offsets map[int32]int64 // partitions that are named
	forget  []int32
	unknown bool   // name a topic that is not there as well
	ours    string // the answer of weir where it differs
}

// TestFetchSessionsAreThoseOfKfake sends the same requests of a session to weir and to kfake, by name and by id, and compares what comes back.
func TestFetchSessionsAreThoseOfKfake(t *testing.T) {
	all := map[int32]int64{0: 0, 1: 0, 2: 0}
	steps := []fetchStep{
		{name: "all, without a session", epoch: -1, offsets: all},
		{name: "a session", offsets: all},
		{name: "nothing has changed", epoch: 1, offsets: map[int32]int64{0: 1}},
		{name: "a record in 1", produce: []int32{1}, epoch: 2},
		{name: "read on", epoch: 3, offsets: map[int32]int64{1: 1}},
		{name: "a record twice", produce: []int32{0, 0}, epoch: 4},
		{name: "forget one", epoch: 5, offsets: map[int32]int64{0: 3}, forget: []int32{1}},
		{name: "the forgotten one has a record", produce: []int32{1, 2}, epoch: 6},
		{name: "name it again", epoch: 7, offsets: map[int32]int64{1: 2, 2: 1}},
		{name: "a partition that is not there", epoch: 8, offsets: map[int32]int64{9: 0}},
		{name: "it is still not there", epoch: 9},
		{name: "forget what is not there", epoch: 10, forget: []int32{9, 8}},
		{name: "beyond the end", epoch: 11, offsets: map[int32]int64{2: 100}},
		{name: "still beyond", epoch: 12},
		{name: "back again", epoch: 13, offsets: map[int32]int64{2: 1}},
		{name: "an unknown topic", epoch: 14, unknown: true},
		{name: "an epoch again", epoch: 14},
		{name: "an epoch to come", epoch: 99},
		{name: "an unknown session", epoch: 15, session: 1},
		{name: "close it", epoch: -1, offsets: map[int32]int64{0: 3}},
		{name: "it is closed", epoch: 15},
		{name: "another one", offsets: map[int32]int64{0: 0}},
		{name: "begun anew", offsets: all},
		// Kafka closes a session that is empty, kfake keeps it.
		{name: "everything is forgotten", epoch: 1, forget: []int32{0, 1, 2}, ours: "error 0, session false, the one before false, "},
	}
	for _, version := range []int16{7, 11, 12, 13, 17} {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			b, _ := start(t, nil)
			createTopic(t, b, "t", 3)
			fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "t"))
			if err != nil {
				t.Fatal(err)
			}
			defer fake.Close()
			weir, other := newFetcher(t, b.Addr().String()), newFetcher(t, fake.ListenAddrs()[0])
			for _, f := range []*fetcher{weir, other} {
				f.produce(t, []int32{0})
			}
			for _, s := range steps {
				got, want := weir.step(t, s, version), other.step(t, s, version)
				if s.ours != "" {
					if got == want {
						t.Errorf("%s: both answer %s: it is no difference any more", s.name, got)
					}
					want = s.ours
				}
				if got != want {
					t.Errorf("%s:\nweir  %s\nkfake %s", s.name, got, want)
				}
			}
		})
	}
}

func newFetcher(t *testing.T, addr string) *fetcher {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	resp, err := metadataOf("t").RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return &fetcher{c: c, id: resp.Topics[0].TopicID}
}

func (f *fetcher) produce(t *testing.T, partitions []int32) {
	t.Helper()
	for _, n := range partitions {
		if err := f.c.ProduceSync(within(t), &kgo.Record{Topic: "t", Partition: n, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// step sends one request and describes the answer.
func (f *fetcher) step(t *testing.T, s fetchStep, version int16) string {
	t.Helper()
	f.produce(t, s.produce)
	q := kmsg.NewPtrFetchRequest()
	q.MaxBytes, q.MaxWaitMillis, q.MinBytes = 1<<20, 20, 1
	q.SessionID, q.SessionEpoch = f.session+s.session, s.epoch
	qt := kmsg.NewFetchRequestTopic()
	qt.Topic, qt.TopicID = "t", f.id
	for n := range int32(10) {
		if offset, ok := s.offsets[n]; ok {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.PartitionMaxBytes = n, offset, 1<<20
			qt.Partitions = append(qt.Partitions, p)
		}
	}
	if len(qt.Partitions) > 0 {
		q.Topics = append(q.Topics, qt)
	}
	if s.unknown {
		u := kmsg.NewFetchRequestTopic()
		u.Topic, u.TopicID = "nosuch", [16]byte{1}
		u.Partitions = append(u.Partitions, kmsg.NewFetchRequestTopicPartition())
		q.Topics = append(q.Topics, u)
	}
	if len(s.forget) > 0 {
		q.ForgottenTopics = append(q.ForgottenTopics, kmsg.FetchRequestForgottenTopic{Topic: "t", TopicID: f.id, Partitions: s.forget})
	}
	resp, err := f.c.SeedBrokers()[0].Request(within(t), pinned{q, version})
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return f.describe(resp.(*kmsg.FetchResponse))
}

func (f *fetcher) describe(r *kmsg.FetchResponse) string {
	var parts []string
	for _, rt := range r.Topics {
		name := rt.Topic
		if rt.TopicID == f.id {
			name = "t"
		}
		for _, p := range rt.Partitions {
			if p.ErrorCode != 0 { // offsets beside an error say nothing
				parts = append(parts, fmt.Sprintf("%s-%d: error %d", name, p.Partition, p.ErrorCode))
				continue
			}
			parts = append(parts, fmt.Sprintf("%s-%d: end %d, stable %d, start %d, records %v", name, p.Partition,
				p.HighWatermark, p.LastStableOffset, p.LogStartOffset, len(p.RecordBatches) > 0))
		}
	}
	slices.Sort(parts)
	same := r.SessionID == f.session
	if r.ErrorCode == 0 {
		f.session = r.SessionID
	}
	return fmt.Sprintf("error %d, session %v, the one before %v, %s", r.ErrorCode, r.SessionID != 0, same, strings.Join(parts, "; "))
}
