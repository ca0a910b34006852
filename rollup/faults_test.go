package rollup

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/rollup/feed"
)

// flaky breaks connections at random: what was sent may have been done, and the answer is lost.
type flaky struct {
	mu   sync.Mutex
	rand *rand.Rand
	odds int // one call in so many breaks the connection; 0: none
	dial func(ctx context.Context, network, host string) (net.Conn, error)
}

func (f *flaky) Dial(ctx context.Context, network, host string) (net.Conn, error) {
	dial := f.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, host)
	if err != nil {
		return nil, err
	}
	return &flakyConn{Conn: conn, f: f}, nil
}

func (f *flaky) breaks() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.odds > 0 && f.rand.IntN(f.odds) == 0
}

func (f *flaky) set(odds int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.odds = odds
}

type flakyConn struct {
	net.Conn
	f *flaky
}

func (c *flakyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.f.breaks() {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// TestBrokenConnectionsLeaveCountsExact: connections break all the time, mostly after the log has done what was asked.
func TestBrokenConnectionsLeaveCountsExact(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		f := &flaky{rand: rand.New(rand.NewPCG(4, 4)), dial: log.dial}
		b.dialRoom = f.Dial
		b.start()
		tr := traffic(4, 26*time.Hour)
		for range 12 {
			f.set(25)
			b.send(tr, 150)
			time.Sleep(150 * time.Millisecond)
		}
		f.set(0)
		b.settle()
		b.check(rand.New(rand.NewPCG(4, 4)))
	})
}

// TestRefusedFlushesLeaveCountsExact: the log refuses some batches for good, so the room drops what it has in memory and starts over.
func TestRefusedFlushesLeaveCountsExact(t *testing.T) {
	t.Parallel()
	log := newFakeLog(t)
	b := newBench(t, log)
	b.start()
	tr := traffic(5, 26*time.Hour)
	rng := rand.New(rand.NewPCG(5, 5))
	refuse := true
	ids, _, err := findTopics(t.Context(), kadm.NewClient(b.client))
	if err != nil {
		t.Fatal(err)
	}
	log.fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		log.fake.KeepControl()
		if !refuse || rng.IntN(10) != 0 {
			return nil, nil, false
		}
		produce := req.(*kmsg.ProduceRequest)
		resp := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range produce.Topics {
			if topic.Topic == TopicEvents || topic.TopicID == ids[TopicEvents] { // later versions of the request have no names
				return nil, nil, false
			}
			answer := kmsg.NewProduceResponseTopic()
			answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				part := kmsg.NewProduceResponseTopicPartition()
				part.Partition, part.ErrorCode = p.Partition, kerr.PolicyViolation.Code
				answer.Partitions = append(answer.Partitions, part)
			}
			resp.Topics = append(resp.Topics, answer)
		}
		return resp, nil, true
	})
	for range 10 {
		b.send(tr, 200)
		time.Sleep(100 * time.Millisecond)
	}
	log.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) { refuse = false; return nil, nil, false })
	b.settle()
	b.check(rng)
}

// TestTwoWritersOfOnePartitionCountOnce: a second member works on the same partitions, as one does that was thought dead and is not. Each
// flush of the one makes the next of the other void.
func TestTwoWritersOfOnePartitionCountOnce(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.start()
		zombie := newBench(t, log) // with a table of its own
		zombie.open()
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = zombie.room.table.Run(ctx) })
		run := func(cfg feed.Config) { running.Go(func() { _ = feed.New(cfg).Run(ctx) }) }
		run(feed.Config{Log: zombie.room.log, Group: "zombie-tally", Topic: TopicEvents, Open: zombie.room.tally.Open})
		for _, f := range zombie.room.folds {
			run(feed.Config{Log: zombie.room.log, Group: "zombie-" + f.Unit.String(), Topic: TopicDeltas, Open: f.Open})
		}
		tr := traffic(6, 26*time.Hour)
		for range 20 {
			b.send(tr, 100)
			time.Sleep(100 * time.Millisecond)
		}
		b.settle()
		b.check(rand.New(rand.NewPCG(6, 6)))
		zombie.ends, zombie.oracle = b.ends, b.oracle
		zombie.settle()
		zombie.check(rand.New(rand.NewPCG(6, 7)))
		cancel()
		running.Wait()
		if err := zombie.room.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestMembersShareAndTakeOver: two nodes share the partitions; one stops, and the other goes on with its part.
func TestMembersShareAndTakeOver(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		a := newBench(t, log)
		b := newBench(t, log)
		a.ends, a.oracle = b.ends, b.oracle
		a.start()
		b.start()
		tr := traffic(7, 26*time.Hour)
		rng := rand.New(rand.NewPCG(7, 7))
		for life := range 5 {
			b.send(tr, 300)
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
			if life%2 == 0 {
				a.stop()
			} else {
				a.start()
			}
			b.send(tr, 300)
		}
		b.settle()
		b.check(rng)
	})
}

// TestGarbageIsSetApart: records that are no hits, deltas or cells do not stop or change the counts.
func TestGarbageIsSetApart(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.start()
		tr := traffic(8, 26*time.Hour)
		for range 6 {
			b.send(tr, 200)
			for _, topic := range []string{TopicEvents, TopicDeltas, TopicMinute, TopicHour, TopicDay} {
				for partition := range int32(Partitions) {
					b.sendRecords([]*kgo.Record{
						{Topic: topic, Partition: partition, Key: []byte("garbage"), Value: []byte{0xff, 1, 2, 3}},
						{Topic: topic, Partition: partition, Key: []byte("g1|1|2025-10-26T02:00:00Z|p0|page|"), Value: []byte(`{"rows":`)},
						{Topic: topic, Partition: partition, Key: []byte("progress|p0"), Value: []byte(`{}`)},
					})
					if topic == TopicEvents {
						b.ends[partition] += 3
					}
				}
			}
		}
		b.settle()
		b.check(rand.New(rand.NewPCG(8, 8)))
	})
}
