package record

import (
	"bytes"
	"reflect"
	"testing"
)

// Property: whatever the bytes, Parse and ForEach neither panic nor hand out
// more than the bound, and what Validate accepts can be iterated.
func FuzzParse(f *testing.F) {
	for _, c := range codecs {
		f.Add(build(f, c, sample(3)), true)
		f.Add(build(f, c, sample(3))[:70], false)
	}
	f.Fuzz(func(t *testing.T, b []byte, fixCRC bool) {
		const bound = 1 << 16
		batch, rest, err := Parse(b)
		if err != nil {
			return
		}
		if len(batch.Raw)+len(rest) != len(b) {
			t.Fatalf("%d + %d bytes of %d", len(batch.Raw), len(rest), len(b))
		}
		if fixCRC {
			seal(batch.Raw)
		}
		total, n := 0, int32(0)
		iterErr := ForEachBounded(batch.Raw, bound, func(r Record) error {
			total += len(r.Key) + len(r.Value)
			n++
			return nil
		})
		if total > bound || n > batch.Count {
			t.Fatalf("%d bytes, %d of %d records", total, n, batch.Count)
		}
		if _, err := Validate(batch.Raw, Rules{MaxInflated: bound}); err == nil && (iterErr != nil || n != batch.Count) {
			t.Fatalf("valid, but iterating gives %d records and %v", n, iterErr)
		}
	})
}

// Property: a record of any content comes back as it went in, by every codec.
func FuzzBuild(f *testing.F) {
	f.Add([]byte("key"), []byte("value"), "header", int64(5), byte(0))
	f.Fuzz(func(t *testing.T, key, value []byte, header string, ms int64, codec byte) {
		if ms < 0 || ms > 1<<50 {
			return
		}
		c := Codec(codec % 5)
		want := Record{Key: key, Value: value, Headers: []Header{{header, value}}, TimestampMs: ms}
		b := NewBuilder(c)
		b.Append(Record{TimestampMs: 1000})
		b.Append(want)
		size := b.Size()
		batch, err := b.Build()
		if err != nil || len(batch) > size {
			t.Fatalf("%d bytes of at most %d, %v", len(batch), size, err)
		}
		if _, err := Validate(batch, Rules{}); err != nil {
			t.Fatal(err)
		}
		err = ForEach(batch, func(r Record) error {
			if r.OffsetDelta == 0 {
				return nil
			}
			if !bytes.Equal(r.Key, key) || !bytes.Equal(r.Value, value) || r.TimestampMs != ms ||
				len(r.Headers) != 1 || r.Headers[0].Key != header || !bytes.Equal(r.Headers[0].Value, value) {
				t.Fatalf("got %+v, want %+v", r, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Property: plainRecord reads what parseRecord reads, and leaves it only records
// with headers and those that it refuses.
func FuzzPlainRecord(f *testing.F) {
	for _, r := range sample(4) {
		f.Add(build(f, None, []Record{{Key: r.Key, Value: r.Value, Headers: r.Headers, TimestampMs: r.TimestampMs}})[HeaderSize:])
	}
	f.Add(build(f, None, []Record{{Value: make([]byte, 200)}})[HeaderSize:])
	f.Add([]byte{12, 0, 0, 0, 1, 1, 0})
	f.Add([]byte{12, 0, 0, 0, 1, 3, 0})
	f.Add([]byte{14, 0, 0, 0, 1, 0x81, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		plain, rest, ok := plainRecord(b)
		full, fullRest, err := parseRecord(b, nil)
		if want := err == nil && len(full.Headers) == 0; ok != want {
			t.Fatalf("plain %v, parsed with %d headers and %v", ok, len(full.Headers), err)
		}
		if !ok {
			return
		}
		if !bytes.Equal(rest, fullRest) || !reflect.DeepEqual(plain, full) {
			t.Fatalf("%+v and %d bytes, want %+v and %d", plain, len(rest), full, len(fullRest))
		}
	})
}
