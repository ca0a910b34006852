package txn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
)

// Layouts of the records, as Apache Kafka names them. All integers are big endian.
//
//	key 0: transactional id             value: TransactionLogValue
//
// A null value is a tombstone. Written is value 1, whose tagged fields hold the ids before and after and the version of
// transactions; read are 0 and 1. Keys of other versions are skipped.
const (
	keyVersion         = 0
	valueVersion       = 1
	newestValueVersion = 1
)

// errSkip is returned for records of a kind that is not known here.
var errSkip = errors.New("record of another kind")

func encodeKey(id string) []byte {
	k := kmsg.TxnMetadataKey{Version: keyVersion, TransactionalID: id}
	return k.AppendTo(nil)
}

func encode(id string, m *metadata) record.Record {
	v := kmsg.NewTxnMetadataValue()
	v.Version = valueVersion
	v.ProducerID, v.ProducerEpoch = m.id, m.epoch
	v.PreviousProducerID, v.NextProducerID = m.previousID, m.nextID
	v.TimeoutMillis, v.State = m.timeoutMs, kmsg.TransactionState(m.state)
	v.ClientTransactionVersion = m.version
	v.StartTimestamp, v.LastUpdateTimestamp = m.startedMs, m.updatedMs
	if m.state != empty {
		v.Topics = []kmsg.TxnMetadataValueTopic{} // null is for Empty
	}
	for _, tp := range m.sorted() {
		if n := len(v.Topics); n == 0 || v.Topics[n-1].Topic != tp.topic {
			v.Topics = append(v.Topics, kmsg.TxnMetadataValueTopic{Topic: tp.topic})
		}
		t := &v.Topics[len(v.Topics)-1]
		t.Partitions = append(t.Partitions, tp.partition)
	}
	return record.Record{Key: encodeKey(id), Value: v.AppendTo(nil), TimestampMs: m.updatedMs}
}

func tombstone(id string, now time.Time) record.Record {
	return record.Record{Key: encodeKey(id), TimestampMs: now.UnixMilli()}
}

func parseKey(b []byte) (id string, err error) {
	if len(b) < 2 {
		return "", fmt.Errorf("key of %d bytes: %w", len(b), errSkip)
	}
	if v := int16(binary.BigEndian.Uint16(b)); v != keyVersion {
		return "", fmt.Errorf("key version %d: %w", v, errSkip)
	}
	var k kmsg.TxnMetadataKey
	if err := k.ReadFrom(b); err != nil {
		return "", fmt.Errorf("read key: %w", err)
	}
	return k.TransactionalID, nil
}

func parseValue(b []byte) (metadata, error) {
	if len(b) < 2 {
		return metadata{}, errors.New("read value: it is cut short")
	}
	if v := int16(binary.BigEndian.Uint16(b)); v < 0 || v > newestValueVersion {
		return metadata{}, fmt.Errorf("read value: version %d, known are 0 to %d: it was written by a newer version", v, newestValueVersion)
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(b); err != nil {
		return metadata{}, fmt.Errorf("read value: %w", err)
	}
	m := metadata{
		producer: producer{v.ProducerID, v.ProducerEpoch}, previousID: v.PreviousProducerID, nextID: v.NextProducerID, lastEpoch: noEpoch,
		timeoutMs: v.TimeoutMillis, state: state(v.State), version: v.ClientTransactionVersion,
		startedMs: v.StartTimestamp, updatedMs: v.LastUpdateTimestamp,
	}
	switch {
	case m.state < empty || m.state > prepareEpochFence:
		return metadata{}, fmt.Errorf("read value: state %d is not known", v.State)
	case m.id < 0 || m.epoch < 0 || m.timeoutMs < 0:
		return metadata{}, fmt.Errorf("read value: producer %d, epoch %d, timeout %d ms: none may be negative", m.id, m.epoch, m.timeoutMs)
	case m.state == prepareEpochFence:
		m.state = prepareAbort
	}
	for _, t := range v.Topics {
		for _, p := range t.Partitions {
			if m.partitions == nil {
				m.partitions = map[topicPartition]struct{}{}
			}
			m.partitions[topicPartition{t.Topic, p}] = struct{}{}
		}
	}
	return m, nil
}
