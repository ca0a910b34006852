package broker

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
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
	for _, key := range []string{"request_percentage", "controller_mutation_rate", "nonsense"} {
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
	if r := fetch(reader); r.ThrottleMillis != 30_000 || len(r.Topics) != 1 || len(r.Topics[0].Partitions[0].RecordBatches) < 100_000 {
		t.Errorf("the fetch that goes over: throttled for %d ms, %d topics", r.ThrottleMillis, len(r.Topics))
	}
	if r := fetch(speak(t, b.Addr())); r.ThrottleMillis == 0 || len(r.Topics) != 0 {
		t.Errorf("a fetch from another connection: throttled for %d ms, %d topics", r.ThrottleMillis, len(r.Topics))
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
	if wait <= 0 || wait > 30*time.Second || !after {
		h.t.Errorf("throttled for %v, after the answer: %v", wait, after)
	}
}
