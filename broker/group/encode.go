package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
)

// Layouts of the records, as Apache Kafka names them. All integers are big endian, a string is an int16 length and its bytes,
// the first int16 of a key or value is the version of its layout.
//
//	key 0, 1: group, topic, partition int32       value: an offset (OffsetCommitValue)
//	key 2:    group                               value: generation and members (GroupMetadataValue)
//
// A null value is a tombstone. Keys of other versions belong to group protocols that are not served here; they are skipped.
// Written are key 1 with value 3 (1 when the client asked for a retention of its own: only that version holds it) and key 2
// with value 3; read are all versions that Kafka has written, up to value 4.
const (
	offsetKeyVersion    = 1
	offsetValueVersion  = 3
	offsetExpiryVersion = 1 // OffsetCommitValue with an expiry of its own
	groupKeyVersion     = 2
	groupValueVersion   = 3
	newestValueVersion  = 4
)

// errSkip is returned for records that are not for this coordinator.
var errSkip = errors.New("record of another kind")

// key is a parsed record key.
type key struct {
	group     string
	isOffset  bool // else it is the group's metadata
	topic     string
	partition int32
}

func parseKey(b []byte) (key, error) {
	if len(b) < 2 {
		return key{}, fmt.Errorf("key of %d bytes: %w", len(b), errSkip)
	}
	switch version := int16(binary.BigEndian.Uint16(b)); version {
	case 0, 1:
		var k kmsg.OffsetCommitKey
		if err := k.ReadFrom(b); err != nil {
			return key{}, fmt.Errorf("read offset key: %w", err)
		}
		return key{group: k.Group, isOffset: true, topic: k.Topic, partition: k.Partition}, nil
	case groupKeyVersion:
		var k kmsg.GroupMetadataKey
		if err := k.ReadFrom(b); err != nil {
			return key{}, fmt.Errorf("read group key: %w", err)
		}
		return key{group: k.Group}, nil
	default:
		return key{}, fmt.Errorf("key version %d: %w", version, errSkip)
	}
}

func checkVersion(b []byte) error {
	if len(b) < 2 {
		return errors.New("value is cut short")
	}
	if v := int16(binary.BigEndian.Uint16(b)); v < 0 || v > newestValueVersion {
		return fmt.Errorf("value version %d, known are 0 to %d: it was written by a newer version", v, newestValueVersion)
	}
	return nil
}

func parseOffset(b []byte) (*offset, error) {
	if err := checkVersion(b); err != nil {
		return nil, fmt.Errorf("read offset: %w", err)
	}
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(b); err != nil {
		return nil, fmt.Errorf("read offset: %w", err)
	}
	o := &offset{at: v.Offset, leaderEpoch: -1, metadata: v.Metadata, committedMs: v.CommitTimestamp, expiresMs: noExpiry}
	if v.Version >= 3 {
		o.leaderEpoch = v.LeaderEpoch
	}
	if v.Version == offsetExpiryVersion {
		o.expiresMs = v.ExpireTimestamp
	}
	return o, nil
}

func parseMetadata(b []byte) (*kmsg.GroupMetadataValue, error) {
	if err := checkVersion(b); err != nil {
		return nil, fmt.Errorf("read group metadata: %w", err)
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(b); err != nil {
		return nil, fmt.Errorf("read group metadata: %w", err)
	}
	ids, instances := map[string]bool{}, map[string]bool{}
	for _, m := range v.Members {
		if ids[m.MemberID] || (m.InstanceID != nil && instances[*m.InstanceID]) {
			return nil, fmt.Errorf("read group metadata: member %q is there twice", m.MemberID)
		}
		ids[m.MemberID] = true
		if m.InstanceID != nil {
			instances[*m.InstanceID] = true
		}
	}
	return &v, nil
}

func offsetKey(group, topic string, partition int32) []byte {
	k := kmsg.OffsetCommitKey{Version: offsetKeyVersion, Group: group, Topic: topic, Partition: partition}
	return k.AppendTo(nil)
}

func offsetRecord(group, topic string, partition int32, o *offset, now time.Time) record.Record {
	v := kmsg.OffsetCommitValue{
		Version: offsetValueVersion, Offset: o.at, LeaderEpoch: o.leaderEpoch, Metadata: o.metadata, CommitTimestamp: o.committedMs,
	}
	if o.expiresMs != noExpiry {
		v.Version, v.ExpireTimestamp = offsetExpiryVersion, o.expiresMs
	}
	return record.Record{Key: offsetKey(group, topic, partition), Value: v.AppendTo(nil), TimestampMs: now.UnixMilli()}
}

func offsetTombstone(group, topic string, partition int32, now time.Time) record.Record {
	return record.Record{Key: offsetKey(group, topic, partition), TimestampMs: now.UnixMilli()}
}

func groupKey(group string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyVersion, Group: group}
	return k.AppendTo(nil)
}

func groupTombstone(group string, now time.Time) record.Record {
	return record.Record{Key: groupKey(group), TimestampMs: now.UnixMilli()}
}

// metadataRecords is the group as it is to be found after a restart, with the given assignments.
func (g *group) metadataRecords(now time.Time, assignments map[string][]byte) []record.Record {
	v := kmsg.GroupMetadataValue{
		Version: groupValueVersion, ProtocolType: g.protocolType, Generation: g.generation,
		CurrentStateTimestamp: g.stateSince.UnixMilli(),
	}
	if g.protocol != "" {
		v.Protocol = &g.protocol
	}
	if g.leader != "" {
		v.Leader = &g.leader
	}
	for _, m := range g.order {
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeoutMillis: int32(m.rebalanceTimeout.Milliseconds()),
			SessionTimeoutMillis:   int32(m.sessionTimeout.Milliseconds()),
			Subscription:           m.metadata(g.protocol), Assignment: assignments[m.id],
		})
	}
	return []record.Record{{Key: groupKey(g.id), Value: v.AppendTo(nil), TimestampMs: now.UnixMilli()}}
}

// assignments are those of the current generation.
func (g *group) assignments() map[string][]byte {
	a := make(map[string][]byte, len(g.order))
	for _, m := range g.order {
		a[m.id] = m.assignment
	}
	return a
}
