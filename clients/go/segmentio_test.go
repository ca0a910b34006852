package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/scram"
)

type segmentio struct{ seed string }

func init() { drivers["segmentio"] = func(seed string) driver { return segmentio{seed} } }

func TestSegmentio(t *testing.T) {
	tr := traits{no: map[string]string{"idempotent": "kafka-go has no idempotent producer", "transaction": "kafka-go has no transactional writer"}, emptyIsNull: true}
	suite(t, segmentio{node.seed}, tr, func(group, topic string) *exec.Cmd { return selfAsMember("segmentio", group, topic) })
}

// toPartition is a balancer that knows where to.
type toPartition int32

func (p toPartition) Balance(kafka.Message, ...int) int { return int(p) }

// mechanism is how to log in; nil where nobody is asked to.
func (s segmentio) mechanism() (sasl.Mechanism, *tls.Config) {
	l := logins[s.seed]
	if l == nil {
		return nil, nil
	}
	m, err := scram.Mechanism(scram.SHA512, l.user, l.password)
	if err != nil {
		panic(err) // a password that SASLprep refuses
	}
	return m, l.tls()
}

func (s segmentio) transport() *kafka.Transport {
	mechanism, cfg := s.mechanism()
	return &kafka.Transport{SASL: mechanism, TLS: cfg}
}

func (s segmentio) dialer() *kafka.Dialer {
	mechanism, cfg := s.mechanism()
	return &kafka.Dialer{Timeout: 10 * time.Second, DualStack: true, SASLMechanism: mechanism, TLS: cfg}
}

func (s segmentio) produce(ctx context.Context, topic string, partition int32, o produceOpts, recs []rec) error {
	w := &kafka.Writer{
		Addr: kafka.TCP(s.seed), Topic: topic, Balancer: toPartition(partition), RequiredAcks: kafka.RequireAll,
		Transport: s.transport(), // the shared one does not know topics made since it last asked
		BatchSize: len(recs), BatchBytes: limit, BatchTimeout: 10 * time.Millisecond,
	}
	if err := w.Compression.UnmarshalText([]byte(o.Codec)); err != nil && o.Codec != "none" {
		return err
	}
	defer w.Close()
	var list []kafka.Message
	for _, r := range recs {
		m := kafka.Message{Key: r.Key, Value: r.Value}
		if r.TimeMs != 0 {
			m.Time = time.UnixMilli(r.TimeMs)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		list = append(list, m)
	}
	return w.WriteMessages(ctx, list...)
}

func fromSegmentio(m kafka.Message) rec {
	r := rec{Key: m.Key, Value: m.Value, TimeMs: m.Time.UnixMilli(), Offset: m.Offset}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, header{h.Key, h.Value})
	}
	return r
}

func (s segmentio) consume(ctx context.Context, topic string, partition int32, offset int64, n int) ([]rec, error) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.seed}, Topic: topic, Partition: int(partition), Dialer: s.dialer(), MaxBytes: 2 * limit, MaxWait: time.Second})
	defer r.Close()
	if err := r.SetOffset(offset); err != nil {
		return nil, err
	}
	var got []rec
	for len(got) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return got, err
		}
		got = append(got, fromSegmentio(m))
	}
	return got, nil
}

func (s segmentio) offsetAt(ctx context.Context, topic string, partition int32, at time.Time) (int64, error) {
	c, err := s.dialer().DialLeader(ctx, "tcp", s.seed, topic, int(partition))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.ReadOffset(at)
}

func (s segmentio) member(ctx context.Context, group, topic string, each func(rec)) error {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{s.seed}, Dialer: s.dialer(), GroupID: group, Topic: topic, MaxWait: time.Second,
		SessionTimeout: session, HeartbeatInterval: time.Second, RebalanceTimeout: 10 * time.Second, StartOffset: kafka.FirstOffset,
	})
	defer r.Close()
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		each(fromSegmentio(m))
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

// transact is of no use: the Client of kafka-go has the requests of transactions, but its Writer does not send records in one.
func (s segmentio) transact(context.Context, string, string, []transaction) error {
	return errors.New("kafka-go has no transactional writer")
}
