package txn

import (
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRecordsHaveKafkasLayout(t *testing.T) {
	m := metadata{
		producer: producer{7, 3}, previousID: 5, nextID: 9, timeoutMs: 60_000, state: prepareCommit, version: versionTwo,
		partitions: map[topicPartition]struct{}{{"b", 1}: {}, {"a", 2}: {}, {"a", 0}: {}}, startedMs: 11, updatedMs: 12,
	}
	r := encode("id", &m)
	if got, want := string(r.Key), "\x00\x00\x00\x02id"; got != want {
		t.Errorf("key %q, want %q", got, want)
	}
	want := "\x00\x01" + "\x00\x00\x00\x00\x00\x00\x00\x07" + "\x00\x03" + "\x00\x00\xea\x60" + "\x02" +
		"\x03" + "\x02a\x03\x00\x00\x00\x00\x00\x00\x00\x02\x00" + "\x02b\x02\x00\x00\x00\x01\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x0c" + "\x00\x00\x00\x00\x00\x00\x00\x0b" +
		"\x03" + "\x00\x08\x00\x00\x00\x00\x00\x00\x00\x05" + "\x01\x08\x00\x00\x00\x00\x00\x00\x00\x09" + "\x02\x02\x00\x02"
	if got := string(r.Value); got != want {
		t.Errorf("value\n%q, want\n%q", got, want)
	}
	m.state, m.partitions = empty, nil
	if got := encode("id", &m).Value[17]; got != 0 {
		t.Errorf("partitions of an empty transaction begin with %#x, want null", got)
	}
	if r := tombstone("id", time.Now()); r.Value != nil {
		t.Errorf("tombstone has the value %q", r.Value)
	}
}

func TestOlderValuesAreRead(t *testing.T) {
	v := kmsg.NewTxnMetadataValue()
	v.ProducerID, v.ProducerEpoch, v.TimeoutMillis, v.State = 7, 3, 1000, kmsg.TransactionState(ongoing)
	v.Topics = []kmsg.TxnMetadataValueTopic{{Topic: "a", Partitions: []int32{4}}}
	v.LastUpdateTimestamp, v.StartTimestamp = 12, 11
	m, err := parseValue(v.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	if m.producer != (producer{7, 3}) || m.previousID != noProducerID || m.nextID != noProducerID || m.state != ongoing ||
		!m.has([]topicPartition{{"a", 4}}) || m.startedMs != 11 || m.updatedMs != 12 {
		t.Errorf("read as %+v", m)
	}
}

func FuzzRecordsFromTheLog(f *testing.F) {
	m := metadata{producer: producer{7, 3}, previousID: 5, nextID: -1, timeoutMs: 1, state: ongoing, partitions: map[topicPartition]struct{}{{"a", 0}: {}}}
	r := encode("id", &m)
	f.Add(r.Key, r.Value)
	f.Add([]byte{0, 1}, []byte{0, 2})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		id, err := parseKey(key)
		if err == nil && string(encodeKey(id)) != string(key[:len(encodeKey(id))]) {
			t.Errorf("key %q is read as %q", key, id)
		}
		m, err := parseValue(value)
		if err != nil {
			return
		}
		again, err := parseValue(encode("id", &m).Value)
		if err != nil {
			t.Fatalf("%+v can't be read again: %v", m, err)
		}
		if !maps.Equal(m.partitions, again.partitions) {
			t.Fatalf("partitions %v became %v", m.partitions, again.partitions)
		}
		m.partitions, again.partitions = nil, nil
		if m.producer != again.producer || m.state != again.state || m.previousID != again.previousID || m.nextID != again.nextID ||
			m.timeoutMs != again.timeoutMs || m.startedMs != again.startedMs || m.updatedMs != again.updatedMs {
			t.Fatalf("%+v became %+v", m, again)
		}
	})
}

func TestCodesAreThoseOfTheProtocol(t *testing.T) {
	for code, want := range map[int16]*kerr.Error{
		codeUnknownTopicOrPartition: kerr.UnknownTopicOrPartition, codeCoordinatorLoadInProgress: kerr.CoordinatorLoadInProgress,
		codeCoordinatorNotAvailable: kerr.CoordinatorNotAvailable, codeNotCoordinator: kerr.NotCoordinator,
		codeTopicAuthorizationFailed: kerr.TopicAuthorizationFailed, codeInvalidRequest: kerr.InvalidRequest,
		codeInvalidProducerEpoch: kerr.InvalidProducerEpoch, codeInvalidTxnState: kerr.InvalidTxnState,
		codeInvalidProducerIDMapping: kerr.InvalidProducerIDMapping, codeInvalidTransactionTimeout: kerr.InvalidTransactionTimeout,
		codeConcurrentTransactions: kerr.ConcurrentTransactions, codeOperationNotAttempted: kerr.OperationNotAttempted,
		codeProducerFenced: kerr.ProducerFenced, codeTransactionalIDNotFound: kerr.TransactionalIDNotFound,
		codeTransactionAbortable: kerr.TransactionAbortable, codeInvalidRegularExpression: kerr.InvalidRegularExpression,
		codeUnknownServerError: kerr.UnknownServerError,
	} {
		if code != want.Code {
			t.Errorf("%s is %d, want %d", want.Message, code, want.Code)
		}
	}
}
