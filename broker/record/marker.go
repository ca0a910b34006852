package record

import (
	"encoding/binary"
	"fmt"
)

// Marker ends the transaction that a producer has open in a partition. In the
// log it is a control batch of one record, as Kafka's EndTransactionMarker:
//
//	key:   version i16 = 0 | type i16: 0 abort, 1 commit
//	value: version i16 = 0 | coordinator epoch i32
//
// Readers take later versions as the first one with fields after it.
type Marker struct {
	ProducerID    int64
	ProducerEpoch int16
	Commit        bool
	// CoordinatorEpoch is the term of the coordinator that decided; an older
	// one must not end what a newer one has begun.
	CoordinatorEpoch int32
}

const (
	markerKeySize   = 4
	markerValueSize = 6

	controlAbort  = 0
	controlCommit = 1
)

// Build returns the marker as a batch that was not given a place yet.
func (m Marker) Build(timestampMs int64) []byte {
	kind := uint16(controlAbort)
	if m.Commit {
		kind = controlCommit
	}
	key := binary.BigEndian.AppendUint16(make([]byte, 2, markerKeySize), kind)
	value := binary.BigEndian.AppendUint32(make([]byte, 2, markerValueSize), uint32(m.CoordinatorEpoch))
	b := NewBuilder(None)
	b.SetProducer(m.ProducerID, m.ProducerEpoch, -1)
	b.SetTransactional()
	b.SetControl()
	b.Append(Record{Key: key, Value: value, TimestampMs: timestampMs})
	batch, err := b.Build()
	if err != nil {
		panic("BUG: a marker can't be built: " + err.Error())
	}
	return batch
}

// ParseMarker reads the marker in a control batch whose bytes are in Raw. ok is
// false for control records of another type, and for a batch whose record was
// cleaned away: readers pass over both.
func ParseMarker(b Batch) (m Marker, ok bool, err error) {
	if !b.Control() {
		return m, false, fmt.Errorf("%w: not a control batch", ErrInvalid)
	}
	err = b.forEach(DefaultMaxInflated, func(r Record) error {
		if len(r.Key) < markerKeySize || int16(binary.BigEndian.Uint16(r.Key)) < 0 {
			return fmt.Errorf("%w: control record with a key of %d bytes", ErrCorrupt, len(r.Key))
		}
		kind := binary.BigEndian.Uint16(r.Key[2:])
		if kind > controlCommit {
			return nil
		}
		if len(r.Value) < markerValueSize || int16(binary.BigEndian.Uint16(r.Value)) < 0 {
			return fmt.Errorf("%w: marker with a value of %d bytes", ErrCorrupt, len(r.Value))
		}
		m = Marker{
			ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, Commit: kind == controlCommit,
			CoordinatorEpoch: int32(binary.BigEndian.Uint32(r.Value[2:])),
		}
		ok = true
		return nil
	})
	if err != nil {
		return Marker{}, false, err
	}
	return m, ok, nil
}
