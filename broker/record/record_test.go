package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var codecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

func sample(n int) []Record {
	var recs []Record
	for i := range n {
		r := Record{
			Key:         fmt.Appendf(nil, "key-%d", i%7),
			Value:       bytes.Repeat(fmt.Appendf(nil, "value %d ", i), 5),
			OffsetDelta: int32(i),
			TimestampMs: 1_700_000_000_000 + int64(i*37%1000),
		}
		switch i % 4 {
		case 1:
			r.Key = nil
		case 2:
			r.Headers = []Header{{"trace", []byte("abc")}, {"none", nil}, {"", []byte{}}}
		case 3:
			r.Value = nil
		}
		recs = append(recs, r)
	}
	return recs
}

func build(t testing.TB, codec Codec, recs []Record) []byte {
	t.Helper()
	b := NewBuilder(codec)
	for _, r := range recs {
		b.Append(r)
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func collect(t testing.TB, batch []byte) []Record {
	t.Helper()
	var got []Record
	err := ForEach(batch, func(r Record) error {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		var hs []Header
		for _, h := range r.Headers {
			hs = append(hs, Header{h.Key, bytes.Clone(h.Value)})
		}
		r.Headers = hs
		got = append(got, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestBuildThenReadGivesTheSameRecords(t *testing.T) {
	for _, c := range codecs {
		t.Run(c.String(), func(t *testing.T) {
			want := sample(50)
			batch := build(t, c, want)
			h, err := Validate(batch, Rules{})
			if err != nil {
				t.Fatal(err)
			}
			if h.Codec() != c || h.Count != 50 || h.ProducerID != NoProducer {
				t.Errorf("header: got %+v", h)
			}
			if got := collect(t, batch); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// The same bytes must mean the same to another implementation of the format.
func TestHeaderAgreesWithKmsg(t *testing.T) {
	b := NewBuilder(None)
	b.SetProducer(77, 3, 9)
	b.SetTransactional()
	for _, r := range sample(3) {
		b.Append(r)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	SetPlace(batch, 1234, 8)
	var k kmsg.RecordBatch
	if err := k.ReadFrom(batch); err != nil {
		t.Fatal(err)
	}
	h, err := Check(batch)
	if err != nil {
		t.Fatal(err)
	}
	got := []int64{h.BaseOffset, int64(h.LeaderEpoch), int64(int32(h.CRC)), int64(h.Attributes), int64(h.LastOffsetDelta),
		h.BaseTimestampMs, h.MaxTimestampMs, h.ProducerID, int64(h.ProducerEpoch), int64(h.BaseSequence), int64(h.Count)}
	want := []int64{k.FirstOffset, int64(k.PartitionLeaderEpoch), int64(k.CRC), int64(k.Attributes), int64(k.LastOffsetDelta),
		k.FirstTimestamp, k.MaxTimestamp, k.ProducerID, int64(k.ProducerEpoch), int64(k.FirstSequence), int64(k.NumRecords)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if !h.Transactional() || h.Control() {
		t.Errorf("attributes %b", h.Attributes)
	}
}

func TestXerialSnappyIsRead(t *testing.T) {
	want := sample(40)
	batch := build(t, None, want)
	body := batch[HeaderSize:]
	framed := append([]byte{}, xerialMagic...)
	framed = append(framed, 0, 0, 0, 1, 0, 0, 0, 1)
	for len(body) > 0 {
		n := min(100, len(body))
		block := s2.EncodeSnappy(nil, body[:n])
		framed = binary.BigEndian.AppendUint32(framed, uint32(len(block)))
		framed = append(framed, block...)
		body = body[n:]
	}
	out := append(batch[:HeaderSize:HeaderSize], framed...)
	binary.BigEndian.PutUint32(out[posLength:], uint32(len(out)-prefixSize))
	binary.BigEndian.PutUint16(out[posAttr:], uint16(Snappy))
	seal(out)
	if got := collect(t, out); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for cut := HeaderSize; cut < len(out); cut++ {
		if _, err := inflate(Snappy, nil, out[HeaderSize:cut], 1<<20); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: got %v", cut, err)
		}
	}
}

func TestInflatingIsBounded(t *testing.T) {
	for _, c := range codecs[1:] {
		t.Run(c.String(), func(t *testing.T) {
			batch := build(t, c, []Record{{Value: make([]byte, 8<<20)}})
			if len(batch) > 1<<20 {
				t.Fatalf("sample did not compress: %d bytes", len(batch))
			}
			err := ForEachBounded(batch, 1<<20, func(Record) error { return nil })
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
			if err := ForEachBounded(batch, 9<<20, func(Record) error { return nil }); err != nil {
				t.Errorf("within the bound: %v", err)
			}
		})
	}
}

func TestBoundIsExact(t *testing.T) {
	for _, c := range codecs {
		batch := build(t, c, sample(20))
		n := len(build(t, None, sample(20))) - HeaderSize
		if err := ForEachBounded(batch, n, func(Record) error { return nil }); err != nil {
			t.Errorf("%s: at the bound: %v", c, err)
		}
		if err := ForEachBounded(batch, n-1, func(Record) error { return nil }); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: below the bound: %v", c, err)
		}
	}
}

func TestEveryBitFlipIsNoticed(t *testing.T) {
	batch := build(t, None, sample(3))
	for i := posLength; i < len(batch); i++ {
		if i >= posEpoch && i < posMagic {
			continue // the leader epoch is not covered, the log checks it
		}
		for bit := range 8 {
			bad := bytes.Clone(batch)
			bad[i] ^= 1 << bit
			if _, err := Check(bad); err == nil {
				t.Errorf("byte %d bit %d: flip was not noticed", i, bit)
			}
		}
	}
}

func TestEveryCutIsNoticed(t *testing.T) {
	batch := build(t, Zstd, sample(10))
	for n := range batch {
		if _, err := Check(batch[:n]); !errors.Is(err, ErrShort) {
			t.Errorf("cut at %d: got %v, want ErrShort", n, err)
		}
	}
}

func TestLogAppendTimeCountsForAllRecords(t *testing.T) {
	batch := build(t, LZ4, sample(5))
	SetLogAppendTime(batch, 42)
	if _, err := Check(batch); err != nil {
		t.Fatal(err)
	}
	for _, r := range collect(t, batch) {
		if r.TimestampMs != 42 {
			t.Errorf("got time %d, want 42", r.TimestampMs)
		}
	}
	if _, err := Validate(batch, Rules{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("from a producer: got %v, want ErrInvalid", err)
	}
}

func TestValidateCorrectsTheLargestTimestamp(t *testing.T) {
	batch := build(t, Gzip, sample(5))
	want, _ := Check(batch)
	setMaxTimestamp(batch, 12)
	got, err := Validate(batch, Rules{})
	if err != nil || got.MaxTimestampMs != want.MaxTimestampMs {
		t.Errorf("got %d, %v, want %d", got.MaxTimestampMs, err, want.MaxTimestampMs)
	}
	if _, err := Check(batch); err != nil {
		t.Error(err)
	}
}

func TestValidateRefusesWhatProducersMustNotSend(t *testing.T) {
	good := func() []byte { return build(t, None, sample(4)) }
	set16 := func(pos int, v uint16) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint16(b[pos:], v) }
	}
	set32 := func(pos int, v uint32) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint32(b[pos:], v) }
	}
	set64 := func(pos int, v uint64) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint64(b[pos:], v) }
	}
	for _, c := range []struct {
		name   string
		change func([]byte)
		rules  Rules
		want   error
	}{
		{"nothing wrong", func([]byte) {}, Rules{}, nil},
		{"magic 1", func(b []byte) { b[posMagic] = 1 }, Rules{}, ErrMagic},
		{"a control batch", set16(posAttr, attrControl), Rules{}, ErrInvalid},
		{"unknown codec", set16(posAttr, 5), Rules{}, ErrCodec},
		{"codec that the bytes are not", set16(posAttr, uint16(Zstd)), Rules{}, ErrCorrupt},
		{"fewer records than said", set32(posCount, 3), Rules{}, ErrInvalid},
		{"count and delta too small", func(b []byte) { set32(posCount, 3)(b); set32(posLastDelta, 2)(b) }, Rules{}, ErrCorrupt},
		{"count and delta too large", func(b []byte) { set32(posCount, 5)(b); set32(posLastDelta, 4)(b) }, Rules{}, ErrCorrupt},
		{"negative delta", set32(posLastDelta, 0xffffffff), Rules{}, ErrCorrupt},
		{"producer without sequence", set64(posPID, 5), Rules{}, ErrInvalid},
		{"producer id -2", set64(posPID, math.MaxUint64-1), Rules{}, ErrInvalid},
		{"transaction without producer", set16(posAttr, attrTransactional), Rules{}, ErrInvalid},
		{"no key in a compacted topic", func([]byte) {}, Rules{RequireKey: true}, ErrInvalid},
		{"over the bound", func([]byte) {}, Rules{MaxInflated: 10}, ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := good()
			c.change(b)
			seal(b)
			if _, err := Validate(b, c.rules); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestValidateNamesTheRecordsWithoutAKey(t *testing.T) {
	key := []byte("k")
	batch := build(t, Zstd, []Record{{Value: key}, {Key: key}, {Key: []byte{}, Value: key}, {Value: key}, {}})
	_, err := Validate(batch, Rules{RequireKey: true})
	var got *RecordsError
	if !errors.As(err, &got) || !slices.Equal(got.Records, []int32{0, 3, 4}) {
		t.Errorf("got %v", err)
	}
}

func TestRecompressKeepsEverythingButTheCodec(t *testing.T) {
	b := NewBuilder(Gzip)
	b.SetProducer(7, 3, 11)
	b.SetTransactional()
	for _, r := range sample(50) {
		b.Append(r)
	}
	sent, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	SetPlace(sent, 1000, 4)
	for codec := None; codec <= Zstd; codec++ {
		again, err := Recompress(sent, codec, DefaultMaxInflated)
		if err != nil {
			t.Fatalf("%s: %v", codec, err)
		}
		got, err := Check(again)
		if err != nil {
			t.Fatalf("%s: %v", codec, err)
		}
		want, _ := Check(sent)
		if got.Codec() != codec || !reflect.DeepEqual(collect(t, again), collect(t, sent)) {
			t.Errorf("%s: got codec %s, or other records", codec, got.Codec())
		}
		got.Raw, got.Attributes, got.CRC = want.Raw, want.Attributes, want.CRC
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got header %+v, want %+v", codec, got, want)
		}
		sent = again
	}
	if _, err := Recompress(sent, None, 10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the bound: %v", err)
	}
}

func TestSequenceWrapsToZero(t *testing.T) {
	if got := AddSequence(math.MaxInt32, 1); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
	if got := AddSequence(math.MaxInt32-1, 3); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestParseCodecNamesTheChoices(t *testing.T) {
	for _, c := range codecs {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("%s: got %v, %v", c, got, err)
		}
	}
	_, err := ParseCodec("brotli")
	if !errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, c := range codecs {
		b.Run(c.String(), func(b *testing.B) {
			recs := sample(300)
			bld := NewBuilder(c)
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range recs {
					bld.Append(r)
				}
				if _, err := bld.Build(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300, "ns/record")
		})
	}
}

func BenchmarkValidatePlain(b *testing.B) {
	records := make([]Record, 300)
	for i := range records {
		records[i] = Record{Value: make([]byte, 200), OffsetDelta: int32(i), TimestampMs: int64(i / 50)}
	}
	batch := build(b, None, records)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Validate(batch, Rules{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300, "ns/record")
}

func BenchmarkValidate(b *testing.B) {
	for _, c := range codecs {
		b.Run(c.String(), func(b *testing.B) {
			batch := build(b, c, sample(300))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Validate(batch, Rules{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300, "ns/record")
		})
	}
}
