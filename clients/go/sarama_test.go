package clients

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

type saramaDriver struct {
	seed    string
	version sarama.KafkaVersion
}

func init() {
	drivers["sarama"] = func(seed string) driver { return saramaDriver{seed, sarama.V4_0_0_0} }
	drivers["sarama-default"] = func(seed string) driver { return saramaDriver{seed, sarama.DefaultVersion} }
}

func TestSarama(t *testing.T) {
	for _, name := range []string{"sarama", "sarama-default"} {
		t.Run(name, func(t *testing.T) {
			suite(t, drivers[name](node.seed), traits{}, func(group, topic string) *exec.Cmd { return selfAsMember(name, group, topic) })
		})
	}
}

func (s saramaDriver) config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = s.version
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.MaxMessageBytes = limit
	c.Consumer.Group.Session.Timeout = session
	c.Consumer.Group.Heartbeat.Interval = time.Second
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	if l := logins[s.seed]; l != nil {
		c.Net.TLS.Enable, c.Net.TLS.Config = true, l.tls()
		c.Net.SASL.Enable, c.Net.SASL.User, c.Net.SASL.Password = true, l.user, l.password
		c.Net.SASL.Mechanism = sarama.SASLTypeSCRAMSHA512
		c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &saramaScram{} }
	}
	return c
}

// saramaScram gives sarama the SCRAM that it leaves to its user.
type saramaScram struct{ *scram.ClientConversation }

func (s *saramaScram) Begin(user, password, authzID string) error {
	c, err := scram.SHA512.NewClient(user, password, authzID)
	if err == nil {
		s.ClientConversation = c.NewConversation()
	}
	return err
}

func (s saramaDriver) produce(_ context.Context, topic string, partition int32, o produceOpts, recs []rec) error {
	c := s.config()
	if err := c.Producer.Compression.UnmarshalText([]byte(o.Codec)); err != nil {
		return err
	}
	c.Producer.Flush.Messages, c.Producer.Flush.Frequency = len(recs), 100*time.Millisecond
	if o.Idempotent {
		c.Producer.Idempotent, c.Net.MaxOpenRequests = true, 1
	}
	p, err := sarama.NewSyncProducer([]string{s.seed}, c)
	if err != nil {
		return err
	}
	defer p.Close()
	var list []*sarama.ProducerMessage
	for _, r := range recs {
		m := &sarama.ProducerMessage{Topic: topic, Partition: partition}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		if r.TimeMs != 0 {
			m.Timestamp = time.UnixMilli(r.TimeMs)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		list = append(list, m)
	}
	return each(p.SendMessages(list))
}

// each says what has become of every message; sarama itself says how many failed.
func each(err error) error {
	var all sarama.ProducerErrors
	if !errors.As(err, &all) {
		return err
	}
	for _, one := range all {
		err = errors.Join(err, one)
	}
	return err
}

func fromSarama(m *sarama.ConsumerMessage) rec {
	r := rec{Key: m.Key, Value: m.Value, TimeMs: m.Timestamp.UnixMilli(), Offset: m.Offset}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, header{string(h.Key), h.Value})
	}
	return r
}

func (s saramaDriver) consume(ctx context.Context, topic string, partition int32, offset int64, n int) ([]rec, error) {
	c, err := sarama.NewConsumer([]string{s.seed}, s.config())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	p, err := c.ConsumePartition(topic, partition, offset)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var got []rec
	for len(got) < n {
		select {
		case m := <-p.Messages():
			got = append(got, fromSarama(m))
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
	return got, nil
}

func (s saramaDriver) offsetAt(_ context.Context, topic string, partition int32, at time.Time) (int64, error) {
	c, err := sarama.NewClient([]string{s.seed}, s.config())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.GetOffset(topic, partition, at.UnixMilli())
}

// saramaMember hands records over and commits each.
type saramaMember struct{ each func(rec) }

func (saramaMember) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (m saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case msg, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			m.each(fromSarama(msg))
			s.MarkMessage(msg, "")
			s.Commit()
		case <-s.Context().Done():
			return nil
		}
	}
}

func (s saramaDriver) member(ctx context.Context, group, topic string, each func(rec)) error {
	g, err := sarama.NewConsumerGroup([]string{s.seed}, group, s.config())
	if err != nil {
		return err
	}
	defer g.Close()
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, saramaMember{each}); err != nil {
			return err
		}
	}
	return nil
}

func (s saramaDriver) transact(_ context.Context, topic, group string, txns []transaction) error {
	c := s.config()
	c.Producer.Idempotent, c.Net.MaxOpenRequests, c.Producer.Transaction.ID = true, 1, "txn-"+topic
	p, err := sarama.NewSyncProducer([]string{s.seed}, c)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, txn := range txns {
		if err := p.BeginTxn(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(txn.Value)}); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		offsets := map[string][]*sarama.PartitionOffsetMetadata{topic: {{Partition: 0, Offset: txn.At}}}
		if err := p.AddOffsetsToTxn(offsets, group); err != nil {
			return fmt.Errorf("offsets: %w", err)
		}
		end := p.AbortTxn
		if txn.Commit {
			end = p.CommitTxn
		}
		if err := end(); err != nil {
			return fmt.Errorf("end: %w", err)
		}
	}
	return nil
}
