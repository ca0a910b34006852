package broker

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/quota"
)

// setQuota limits who is anonymous, by a request of Kafka's own.
func setQuota(t *testing.T, adm *kadm.Client, key string, value float64) error {
	t.Helper()
	altered, err := adm.AlterClientQuotas(within(t), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "user", Name: kadm.StringPtr("ANONYMOUS")}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: key, Value: value}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return altered[0].Err
}

// Who goes over a quota is answered at once, told for how long, and then not read from that connection.
func TestQuotasMuteAConnectionAfterTheAnswer(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	adm := local(t, b)
	p := client(t, b, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err := p.ProduceSync(within(t), kgo.SliceRecord(make([]byte, 100_000))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"producer_byte_rate", "consumer_byte_rate"} {
		if err := setQuota(t, adm, key, 1000); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"controller_mutation_rate", "nonsense"} {
		if err := setQuota(t, adm, key, 1000); !errors.Is(err, kerr.InvalidRequest) {
			t.Errorf("%s: %v, want INVALID_REQUEST", key, err)
		}
	}
	described, err := adm.DescribeClientQuotas(within(t), false, nil)
	if err != nil || len(described) != 1 || len(described[0].Values) != 2 {
		t.Errorf("described: %+v, %v", described, err)
	}

	fetch := func(s *speaker) *kmsg.FetchResponse {
		t.Helper()
		q := kmsg.NewPtrFetchRequest()
		q.MaxBytes, q.SessionEpoch = 1<<20, -1
		q.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{{PartitionMaxBytes: 1 << 20, CurrentLeaderEpoch: -1}}}}
		r, ok := s.ask(q, 11)
		if !ok {
			t.Fatal("no answer")
		}
		return r.(*kmsg.FetchResponse)
	}
	reader := speak(t, b.Addr())
	if r := fetch(reader); r.ThrottleMillis != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions[0].RecordBatches) < 100_000 {
		t.Errorf("a batch larger than any window: throttled for %d ms, %d topics", r.ThrottleMillis, len(r.Topics))
	}
	if r := fetch(speak(t, b.Addr())); r.ThrottleMillis < 60_000 || r.ThrottleMillis > 72_000 || len(r.Topics) != 0 {
		t.Errorf("a fetch from another connection: throttled for %d ms, want what 100 kB are at 1 kB/s but for the window; %d topics", r.ThrottleMillis, len(r.Topics))
	}
	if r := fetch(reader); r.ThrottleMillis == 0 || len(r.Topics) != 0 {
		t.Errorf("the next fetch: throttled for %d ms, %d topics", r.ThrottleMillis, len(r.Topics))
	}
	reader.frame(kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrMetadataRequest(), 2)[4:])
	reader.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := reader.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the muted connection was read: %v", err)
	}

	writer := client(t, b, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.WithHooks(throttles{t}))
	began := time.Now()
	if err := writer.ProduceSync(within(t), kgo.SliceRecord(make([]byte, 100_000))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the produce request that goes over was answered after %v", took)
	}
}

// throttles checks what a client is told of its being throttled.
type throttles struct{ t *testing.T }

func (h throttles) OnBrokerThrottle(_ kgo.BrokerMetadata, wait time.Duration, after bool) {
	if wait <= 0 || wait > 75*time.Second || !after {
		h.t.Errorf("throttled for %v, after the answer: %v", wait, after)
	}
}

// appendBatches fills a topic with batches of 10 kB.
func appendBatches(t *testing.T, b *Broker, topic string, n int) {
	t.Helper()
	p := client(t, b, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for range n {
		if err := p.ProduceSync(within(t), kgo.SliceRecord(make([]byte, 10_000))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// A fetch that would go over is emptied: nothing of it counts, and its session goes on where it was.
func TestAFetchOverItsQuotaTellsNothing(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	adm := local(t, b)
	appendBatches(t, b, "t", 4)
	if err := setQuota(t, adm, "consumer_byte_rate", 1000); err != nil {
		t.Fatal(err)
	}
	reader := speak(t, b.Addr())
	q := kmsg.NewPtrFetchRequest()
	q.SessionEpoch = 0
	fetch := func(offset int64) *kmsg.FetchResponse {
		t.Helper()
		q.MaxBytes, q.MinBytes = 1<<20, 1
		q.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{{FetchOffset: offset, PartitionMaxBytes: 1 << 20, CurrentLeaderEpoch: -1}}}}
		r, ok := reader.ask(q, 11)
		if !ok {
			t.Fatal("no answer")
		}
		got := r.(*kmsg.FetchResponse)
		if got.ErrorCode != 0 {
			t.Fatalf("error %d", got.ErrorCode)
		}
		q.SessionID = got.SessionID
		q.SessionEpoch++
		return got
	}
	first := fetch(0)
	if n := len(first.Topics[0].Partitions[0].RecordBatches); n < 20_000 || n > 29_000 || first.SessionID == 0 || first.ThrottleMillis != 0 {
		t.Fatalf("%d bytes, session %d, throttled for %d ms: want two of four batches, what the window allows", n, first.SessionID, first.ThrottleMillis)
	}
	appendBatches(t, b, "t", 1)
	if r := fetch(2); len(r.Topics) != 0 || r.SessionID != first.SessionID || r.ThrottleMillis == 0 || r.ThrottleMillis > 3000 {
		t.Fatalf("over the quota: %d topics, session %d, throttled for %d ms", len(r.Topics), r.SessionID, r.ThrottleMillis)
	}
	if err := setQuota(t, adm, "consumer_byte_rate", 1e9); err != nil {
		t.Fatal(err)
	}
	if r := fetch(5); len(r.Topics) != 1 || r.Topics[0].Partitions[0].HighWatermark != 5 || r.SessionID != first.SessionID {
		t.Errorf("after that: %+v: want the high watermark that was withheld before", r)
	}
}

func TestAProduceRequestIsChargedForAllItsTopics(t *testing.T) {
	b, _ := start(t, nil)
	topics := []string{"a", "b", "c"}
	for _, topic := range topics {
		createTopic(t, b, topic, 1)
		appendBatches(t, b, topic, 1)
	}
	if err := setQuota(t, local(t, b), "producer_byte_rate", 1000); err != nil {
		t.Fatal(err)
	}
	q := kmsg.NewPtrProduceRequest()
	q.Acks, q.TimeoutMillis = -1, 10_000
	for _, topic := range topics {
		r := kmsg.NewPtrFetchRequest()
		r.MaxBytes, r.SessionEpoch = 1<<20, -1
		r.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{{PartitionMaxBytes: 1 << 20, CurrentLeaderEpoch: -1}}}}
		got, ok := speak(t, b.Addr()).ask(r, 11)
		if !ok {
			t.Fatal("no answer")
		}
		batch := got.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
		q.Topics = append(q.Topics, kmsg.ProduceRequestTopic{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: withoutProducer(batch)}}})
	}
	writer := speak(t, b.Addr())
	r, ok := writer.ask(q, 9)
	if !ok {
		t.Fatal("no answer")
	}
	got := r.(*kmsg.ProduceResponse)
	if got.ThrottleMillis < 500 || got.ThrottleMillis > 3000 { // 30 kB and a little less 29 to 30 seconds
		t.Errorf("throttled for %d ms", got.ThrottleMillis)
	}
	for _, topic := range got.Topics {
		if p := topic.Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 1 {
			t.Errorf("%s: error %d, offset %d", topic.Topic, p.ErrorCode, p.BaseOffset)
		}
	}
}

// withoutProducer is a batch of nobody's.
func withoutProducer(batch []byte) []byte {
	binary.BigEndian.PutUint64(batch[43:], math.MaxUint64)
	binary.BigEndian.PutUint16(batch[51:], math.MaxUint16)
	binary.BigEndian.PutUint32(batch[53:], math.MaxUint32)
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch
}

// What a request takes of the processor counts, what it waits for does not.
func TestTheTimeOfRequestsHasAQuota(t *testing.T) {
	if !quota.CanTime {
		t.Skip("this system does not tell a thread's processor time")
	}
	reg := prometheus.NewRegistry()
	b, _ := start(t, func(c *Config) { c.Registry = reg })
	createTopic(t, b, "t", 1)
	adm := local(t, b)
	if err := setQuota(t, adm, "request_percentage", 0.2); err != nil { // 60 ms in a window
		t.Fatal(err)
	}
	waiting := kmsg.NewPtrFetchRequest()
	waiting.MaxBytes, waiting.MinBytes, waiting.MaxWaitMillis, waiting.SessionEpoch = 1<<20, 1, 500, -1
	waiting.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{{PartitionMaxBytes: 1 << 20, CurrentLeaderEpoch: -1}}}}
	s := speak(t, b.Addr())
	if r, ok := s.ask(waiting, 11); !ok || r.(*kmsg.FetchResponse).ThrottleMillis != 0 || len(r.(*kmsg.FetchResponse).Topics) != 1 {
		t.Errorf("a fetch that waited for 500 ms: %+v", r)
	}
	if err := setQuota(t, adm, "request_percentage", 0.00001); err != nil { // 3 microseconds in a window
		t.Fatal(err)
	}
	if r, ok := s.ask(&kmsg.MetadataRequest{}, 9); !ok || r.(*kmsg.MetadataResponse).ThrottleMillis != 1000 || len(r.(*kmsg.MetadataResponse).Topics) != 1 {
		t.Errorf("Metadata: %+v, want its whole answer and a second, the longest", r)
	}
	began := time.Now()
	if r, ok := s.ask(waiting, 11); !ok || r.(*kmsg.FetchResponse).ThrottleMillis != 1000 || len(r.(*kmsg.FetchResponse).Topics) != 0 {
		t.Errorf("Fetch: %+v, want an empty answer and a second", r)
	}
	if took := time.Since(began); took < 800*time.Millisecond {
		t.Errorf("the connection was read after %v, want a second", took)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "quota" && l.GetValue() == "request_percentage" {
					told[f.GetName()] = m.GetCounter().GetValue()
				}
			}
		}
	}
	if told["weir_broker_throttled_total"] != 2 || told["weir_broker_throttled_seconds_total"] != 2 {
		t.Errorf("metrics: %v", told)
	}
}
