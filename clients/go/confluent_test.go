//go:build cgo

package clients

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// confluent is librdkafka with its Go face.
type confluent struct{ seed string }

func init() { drivers["confluent"] = func(seed string) driver { return confluent{seed} } }

func TestConfluent(t *testing.T) {
	_, version := kafka.LibraryVersion()
	t.Log("librdkafka", version)
	suite(t, confluent{node.seed}, traits{}, func(group, topic string) *exec.Cmd { return selfAsMember("confluent", group, topic) })
}

func (c confluent) config(more kafka.ConfigMap) *kafka.ConfigMap {
	m := kafka.ConfigMap{"bootstrap.servers": c.seed, "message.max.bytes": limit, "log_level": 3}
	if l := logins[c.seed]; l != nil {
		more["security.protocol"], more["ssl.ca.location"], more["sasl.mechanism"] = "sasl_ssl", l.ca, "SCRAM-SHA-512"
		more["sasl.username"], more["sasl.password"] = l.user, l.password
	}
	for k, v := range more {
		m[k] = v
	}
	return &m
}

func (c confluent) produce(ctx context.Context, topic string, partition int32, o produceOpts, recs []rec) error {
	p, err := kafka.NewProducer(c.config(kafka.ConfigMap{"compression.codec": o.Codec, "enable.idempotence": o.Idempotent, "acks": "all", "linger.ms": 50}))
	if err != nil {
		return err
	}
	defer p.Close()
	answers := make(chan kafka.Event, len(recs))
	for _, r := range recs {
		m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: partition}, Key: r.Key, Value: r.Value}
		if r.TimeMs != 0 {
			m.Timestamp = time.UnixMilli(r.TimeMs)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		if err := p.Produce(m, answers); err != nil {
			return err
		}
	}
	for range recs {
		select {
		case e := <-answers:
			if err := e.(*kafka.Message).TopicPartition.Error; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func fromConfluent(m *kafka.Message) rec {
	r := rec{Key: m.Key, Value: m.Value, TimeMs: m.Timestamp.UnixMilli(), Offset: int64(m.TopicPartition.Offset)}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, header{h.Key, h.Value})
	}
	return r
}

func (c confluent) consumer(group string) (*kafka.Consumer, error) {
	return kafka.NewConsumer(c.config(kafka.ConfigMap{
		"group.id": group, "enable.auto.commit": false, "auto.offset.reset": "earliest",
		"session.timeout.ms": int(session.Milliseconds()), "heartbeat.interval.ms": 1000, "fetch.message.max.bytes": limit,
	}))
}

func (c confluent) consume(ctx context.Context, topic string, partition int32, offset int64, n int) ([]rec, error) {
	k, err := c.consumer("unused")
	if err != nil {
		return nil, err
	}
	defer k.Close()
	if err := k.Assign([]kafka.TopicPartition{{Topic: &topic, Partition: partition, Offset: kafka.Offset(offset)}}); err != nil {
		return nil, err
	}
	var got []rec
	for len(got) < n && ctx.Err() == nil {
		if m, ok := k.Poll(200).(*kafka.Message); ok {
			if m.TopicPartition.Error != nil {
				return got, m.TopicPartition.Error
			}
			got = append(got, fromConfluent(m))
		}
	}
	return got, ctx.Err()
}

func (c confluent) offsetAt(_ context.Context, topic string, partition int32, at time.Time) (int64, error) {
	k, err := c.consumer("unused")
	if err != nil {
		return 0, err
	}
	defer k.Close()
	got, err := k.OffsetsForTimes([]kafka.TopicPartition{{Topic: &topic, Partition: partition, Offset: kafka.Offset(at.UnixMilli())}}, 30_000)
	if err != nil {
		return 0, err
	}
	return int64(got[0].Offset), got[0].Error
}

func (c confluent) member(ctx context.Context, group, topic string, each func(rec)) error {
	k, err := c.consumer(group)
	if err != nil {
		return err
	}
	defer k.Close()
	if err := k.Subscribe(topic, nil); err != nil {
		return err
	}
	for ctx.Err() == nil {
		switch m := k.Poll(200).(type) {
		case *kafka.Message:
			if m.TopicPartition.Error != nil {
				return m.TopicPartition.Error
			}
			each(fromConfluent(m))
			if _, err := k.CommitMessage(m); err != nil {
				return err
			}
		case kafka.Error:
			if m.IsFatal() {
				return m
			}
		}
	}
	return nil
}

func (c confluent) transact(ctx context.Context, topic, group string, txns []transaction) error {
	p, err := kafka.NewProducer(c.config(kafka.ConfigMap{"transactional.id": "txn-" + topic}))
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.InitTransactions(ctx); err != nil {
		return err
	}
	meta, err := kafka.NewTestConsumerGroupMetadata(group)
	if err != nil {
		return err
	}
	for _, txn := range txns {
		if err := c.transactOne(ctx, p, meta, topic, txn); err != nil {
			return err
		}
	}
	return nil
}

func (c confluent) transactOne(ctx context.Context, p *kafka.Producer, meta *kafka.ConsumerGroupMetadata, topic string, txn transaction) error {
	if err := p.BeginTransaction(); err != nil {
		return err
	}
	at := kafka.TopicPartition{Topic: &topic, Partition: 0}
	delivered := make(chan kafka.Event, 1) // an abort drops what is not sent yet
	if err := p.Produce(&kafka.Message{TopicPartition: at, Value: []byte(txn.Value)}, delivered); err != nil {
		return err
	}
	select {
	case e := <-delivered:
		if m, ok := e.(*kafka.Message); !ok || m.TopicPartition.Error != nil {
			return fmt.Errorf("delivery: %v", e)
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	at.Offset = kafka.Offset(txn.At)
	if err := p.SendOffsetsToTransaction(ctx, []kafka.TopicPartition{at}, meta); err != nil {
		return err
	}
	if txn.Commit {
		return p.CommitTransaction(ctx)
	}
	return p.AbortTransaction(ctx)
}
