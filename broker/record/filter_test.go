package record

import (
	"bytes"
	"testing"
)

// What is kept is as it was: offsets, times, keys, values, headers; the header
// of the batch still spans all offsets.
func TestFilterKeepsWhatItKeeps(t *testing.T) {
	for _, codec := range []Codec{None, Gzip, Zstd, LZ4, Snappy} {
		for _, horizon := range []int64{NoHorizon, 5_000_000} {
			b := NewBuilder(codec)
			b.SetProducer(7, 2, 40)
			for i := range 10 {
				b.Append(Record{Key: []byte{byte(i)}, Value: bytes.Repeat([]byte{byte(i)}, 50), TimestampMs: 1000 + int64(i), Headers: []Header{{"h", []byte{1}}}})
			}
			raw, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			SetPlace(raw, 900, 5)
			batch, err := Check(raw)
			if err != nil {
				t.Fatal(err)
			}
			out, kept, err := Filter(batch, horizon, func(r Record) bool { return r.OffsetDelta%3 == 1 })
			if err != nil || kept != 3 {
				t.Fatalf("%v: %d kept, %v", codec, kept, err)
			}
			h, err := Check(out)
			if err != nil {
				t.Fatal(err)
			}
			if h.BaseOffset != 900 || h.LastOffset() != 909 || h.LeaderEpoch != 5 || h.LastSequence() != 49 || h.MaxTimestampMs != 1007 || h.Count != 3 {
				t.Errorf("%v: header %+v", codec, h)
			}
			if ms, ok := h.DeleteHorizonMs(); ok != (horizon != NoHorizon) || ok && ms != horizon {
				t.Errorf("%v: horizon %d, %v", codec, ms, ok)
			}
			var deltas []int32
			if err := ForEach(out, func(r Record) error {
				if r.TimestampMs != 1000+int64(r.OffsetDelta) || r.Key[0] != byte(r.OffsetDelta) || len(r.Value) != 50 || len(r.Headers) != 1 {
					t.Errorf("%v: record %+v", codec, r)
				}
				deltas = append(deltas, r.OffsetDelta)
				return nil
			}); err != nil || len(deltas) != 3 {
				t.Errorf("%v: %v, %v", codec, deltas, err)
			}
			empty, kept, err := Filter(h, NoHorizon, func(Record) bool { return false })
			if err != nil || kept != 0 || len(empty) != HeaderSize {
				t.Fatalf("%v: emptied: %d bytes, %v", codec, len(empty), err)
			}
			if e, err := Check(empty); err != nil || e.LastOffset() != 909 || e.LastSequence() != 49 || e.Codec() != None || e.MaxTimestampMs != 1007 {
				t.Errorf("%v: emptied: %+v, %v", codec, e, err)
			}
			if _, err := Validate(out, Rules{}); err == nil {
				t.Errorf("%v: a producer may send a batch with gaps", codec)
			}
		}
	}
}

func FuzzFilter(f *testing.F) {
	b := NewBuilder(Zstd)
	b.Append(Record{Key: []byte("k"), Value: []byte("v"), TimestampMs: 5})
	b.Append(Record{Key: []byte("l")})
	raw, err := b.Build()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, int64(77), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, horizon int64, mask uint8) {
		batch, _, err := Parse(raw)
		if err != nil {
			return
		}
		out, kept, err := Filter(batch, horizon, func(r Record) bool { return mask>>(uint(r.OffsetDelta)%8)&1 == 1 })
		if err != nil {
			return
		}
		h, err := Check(out)
		if err != nil || int(h.Count) != kept || h.LastOffsetDelta != batch.LastOffsetDelta {
			t.Fatalf("%+v, %v", h, err)
		}
		n := 0
		if err := ForEach(out, func(Record) error { n++; return nil }); err != nil || n != kept {
			t.Fatalf("%d records of %d, %v", n, kept, err)
		}
	})
}
