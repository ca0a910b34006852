package dump

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/rollup/delta"
)

// Formats are the words for what records can hold.
var Formats = []string{"hits", "deltas", "cells", "offsets", "transactions"}

// topics says what weir's own topics hold.
var topics = map[string]string{
	rollup.TopicEvents: "hits", rollup.TopicDeltas: "deltas", rollup.TopicMinute: "cells", rollup.TopicHour: "cells", rollup.TopicDay: "cells",
	group.OffsetsTopic: "offsets", txn.StateTopic: "transactions",
}

// decoder takes keys and values apart. A nil function leaves text and hex.
type decoder struct {
	key   func(key []byte) (any, error)
	value func(key, value []byte) (any, error)
}

func decoderOf(as, topic string) decoder {
	if as == "" {
		as = topics[topic]
	}
	switch as {
	case "hits":
		return decoder{value: func(_, b []byte) (any, error) { h := &hit.Hit{}; return h, hit.Parse(b, h) }}
	case "deltas":
		return decoder{value: func(_, b []byte) (any, error) { d := &delta.Delta{}; return d, delta.Parse(b, d) }}
	case "cells":
		return decoder{value: func(_, b []byte) (any, error) {
			var compact bytes.Buffer
			err := json.Compact(&compact, b)
			return json.RawMessage(compact.Bytes()), err
		}}
	case "offsets":
		return decoder{offsetsKey, offsetsValue}
	case "transactions":
		return decoder{txnKey, txnValue}
	}
	return decoder{}
}

// add puts key and value of a record on a line; what can't be decoded is there as text or hex, with the reason.
func (d decoder) add(l *Line, r record.Record) {
	put := func(name string, b []byte, decode func() (any, error)) {
		if b != nil && decode != nil {
			doc, err := decode()
			var text []byte
			if err == nil {
				text, err = json.Marshal(doc)
			}
			if err == nil {
				l.add(name, json.RawMessage(text))
				return
			}
			l.add(name+"_error", err.Error())
		}
		l.addBytes(name, b)
	}
	var key, value func() (any, error)
	if d.key != nil {
		key = func() (any, error) { return d.key(r.Key) }
	}
	if d.value != nil {
		value = func() (any, error) { return d.value(r.Key, r.Value) }
	}
	put("key", r.Key, key)
	put("value", r.Value, value)
}

// version reads the int16 that begins keys and values of Kafka's own topics.
func version(what string, b []byte, most int16) (int16, error) {
	if len(b) < 2 {
		return 0, fmt.Errorf("a %s of %d bytes has no version", what, len(b))
	}
	v := int16(binary.BigEndian.Uint16(b))
	if v < 0 || v > most {
		return v, fmt.Errorf("version %d of a %s; 0 to %d can be read", v, what, most)
	}
	return v, nil
}

type object = map[string]any

func offsetsKey(b []byte) (any, error) {
	v, err := version("key", b, 2)
	if err != nil {
		return nil, err
	}
	if v == 2 {
		var k kmsg.GroupMetadataKey
		err = k.ReadFrom(b)
		return object{"group": k.Group}, err
	}
	var k kmsg.OffsetCommitKey
	err = k.ReadFrom(b)
	return object{"group": k.Group, "topic": k.Topic, "partition": k.Partition}, err
}

func offsetsValue(key, b []byte) (any, error) {
	kind, err := version("key", key, 2)
	if err != nil {
		return nil, err
	}
	if _, err := version("value", b, 4); err != nil {
		return nil, err
	}
	if kind < 2 {
		v := kmsg.NewOffsetCommitValue()
		err = v.ReadFrom(b)
		doc := object{"offset": v.Offset, "leader_epoch": v.LeaderEpoch, "metadata": v.Metadata, "commit_ms": v.CommitTimestamp}
		if v.Version == 1 {
			doc["expire_ms"] = v.ExpireTimestamp
		}
		return doc, err
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(b); err != nil {
		return nil, err
	}
	members := []object{}
	for _, m := range v.Members {
		one := object{"member_id": m.MemberID, "instance_id": m.InstanceID, "client_id": m.ClientID, "client_host": m.ClientHost,
			"rebalance_timeout_ms": m.RebalanceTimeoutMillis, "session_timeout_ms": m.SessionTimeoutMillis}
		a := kmsg.NewConsumerMemberAssignment()
		if v.ProtocolType == "consumer" && len(m.Assignment) > 0 && a.ReadFrom(m.Assignment) == nil {
			assigned := object{}
			for _, t := range a.Topics {
				assigned[t.Topic] = t.Partitions
			}
			one["assignment"] = assigned
		}
		members = append(members, one)
	}
	return object{"protocol_type": v.ProtocolType, "generation": v.Generation, "protocol": v.Protocol, "leader": v.Leader,
		"state_ms": v.CurrentStateTimestamp, "members": members}, nil
}

func txnKey(b []byte) (any, error) {
	if _, err := version("key", b, 0); err != nil {
		return nil, err
	}
	var k kmsg.TxnMetadataKey
	err := k.ReadFrom(b)
	return object{"transactional_id": k.TransactionalID}, err
}

func txnValue(_, b []byte) (any, error) {
	if _, err := version("value", b, 1); err != nil {
		return nil, err
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(b); err != nil {
		return nil, err
	}
	parts := object{}
	for _, t := range v.Topics {
		parts[t.Topic] = t.Partitions
	}
	return object{"producer_id": v.ProducerID, "producer_epoch": v.ProducerEpoch, "timeout_ms": v.TimeoutMillis, "state": v.State.String(),
		"partitions": parts, "changed_ms": v.LastUpdateTimestamp, "started_ms": v.StartTimestamp}, nil
}
