package record

import (
	"bytes"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The bytes must be those that Kafka's clients and DumpLogSegments look for.
func TestMarkersAreWhatKafkaWrites(t *testing.T) {
	for _, m := range []Marker{
		{ProducerID: 4000, ProducerEpoch: 7, Commit: true, CoordinatorEpoch: 12},
		{ProducerID: 1, ProducerEpoch: 0, Commit: false, CoordinatorEpoch: 0},
	} {
		b, err := Check(m.Build(1_700_000_000_000))
		if err != nil {
			t.Fatal(err)
		}
		if b.Attributes != 0x30 || b.BaseSequence != -1 || b.Count != 1 || b.LastOffsetDelta != 0 ||
			b.ProducerID != m.ProducerID || b.ProducerEpoch != m.ProducerEpoch || b.MaxTimestampMs != 1_700_000_000_000 {
			t.Errorf("header %+v", b)
		}
		err = ForEach(b.Raw, func(r Record) error {
			var key kmsg.ControlRecordKey
			var value kmsg.EndTxnMarker
			if err := errors.Join(key.ReadFrom(r.Key), value.ReadFrom(r.Value)); err != nil {
				return err
			}
			want := kmsg.ControlRecordKeyTypeAbort
			if m.Commit {
				want = kmsg.ControlRecordKeyTypeCommit
			}
			if key.Version != 0 || key.Type != want || value.Version != 0 || value.CoordinatorEpoch != m.CoordinatorEpoch {
				t.Errorf("key %+v, value %+v", key, value)
			}
			if !bytes.Equal(r.Key, key.AppendTo(nil)) || !bytes.Equal(r.Value, value.AppendTo(nil)) {
				t.Errorf("key %x, value %x", r.Key, r.Value)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		got, ok, err := ParseMarker(b)
		if err != nil || !ok || got != m {
			t.Errorf("got %+v, %v, %v, want %+v", got, ok, err, m)
		}
	}
}

func TestOtherControlRecordsAreNoMarkers(t *testing.T) {
	control := func(key, value []byte) Batch {
		b := NewBuilder(None)
		b.SetProducer(1, 1, -1)
		b.SetControl()
		b.Append(Record{Key: key, Value: value})
		out, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		batch, err := Check(out)
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	if _, ok, err := ParseMarker(control([]byte{0, 0, 0, 2}, nil)); ok || err != nil { // a leader change
		t.Errorf("another type: %v, %v", ok, err)
	}
	if m, ok, err := ParseMarker(control([]byte{0, 1, 0, 1, 9}, []byte{0, 1, 0, 0, 0, 5, 9})); !ok || err != nil || !m.Commit || m.CoordinatorEpoch != 5 {
		t.Errorf("a later version: %+v, %v, %v", m, ok, err)
	}
	for _, b := range []Batch{
		control(nil, nil), control([]byte{0, 0, 0}, nil), control([]byte{0x80, 0, 0, 0}, make([]byte, 6)),
		control([]byte{0, 0, 0, 0}, make([]byte, 5)), control([]byte{0, 0, 0, 1}, []byte{0x80, 0, 0, 0, 0, 0}),
	} {
		if _, _, err := ParseMarker(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
	}
	data, err := Check(build(t, None, sample(1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ParseMarker(data); !errors.Is(err, ErrInvalid) {
		t.Errorf("a data batch: %v", err)
	}
}

// Property: no bytes make parsing panic, and what is a marker is built again as
// one that means the same.
func FuzzMarker(f *testing.F) {
	f.Add(Marker{ProducerID: 7, ProducerEpoch: 3, Commit: true, CoordinatorEpoch: 2}.Build(5)[HeaderSize:], int64(7), int16(3))
	f.Add(Marker{ProducerID: 7}.Build(5)[HeaderSize:], int64(1), int16(0))
	f.Fuzz(func(t *testing.T, records []byte, id int64, epoch int16) {
		b := Batch{Attributes: attrControl, ProducerID: id, ProducerEpoch: epoch, Count: 1, Raw: append(make([]byte, HeaderSize), records...)}
		m, ok, err := ParseMarker(b)
		if err != nil || !ok {
			return
		}
		again, err := Check(m.Build(9))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok, err := ParseMarker(again); err != nil || !ok || got != m || m.ProducerID != id || m.ProducerEpoch != epoch {
			t.Fatalf("got %+v, %v, %v, want %+v", got, ok, err, m)
		}
	})
}
