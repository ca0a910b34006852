package dump

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/internal/vfs"
)

const second = 1_780_000_000_000 // 2026-05-28T20:26:40Z

// batch builds a batch at an offset in term 3.
func batch(t testing.TB, codec record.Codec, base int64, setup func(*record.Builder), records ...record.Record) []byte {
	t.Helper()
	b := record.NewBuilder(codec)
	if setup != nil {
		setup(b)
	}
	for _, r := range records {
		r.TimestampMs = second
		b.Append(r)
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	record.SetPlace(out, base, 3)
	return out
}

// smallLog holds a batch of each codec with two records, one of a transaction, and its markers.
func smallLog(t testing.TB) (log []byte, starts []int) {
	add := func(b []byte) {
		starts = append(starts, len(log))
		log = append(log, b...)
	}
	offset := int64(0)
	for c := record.None; c <= record.Zstd; c++ {
		add(batch(t, c, offset, nil, record.Record{Key: []byte("k"), Value: []byte(strings.Repeat("word ", 60))},
			record.Record{Value: []byte{0, 255}, Headers: []record.Header{{Key: "h", Value: []byte("v")}}}))
		offset += 2
	}
	add(batch(t, record.None, offset, func(b *record.Builder) { b.SetProducer(7, 1, 4); b.SetTransactional() }, record.Record{Value: []byte("in")}))
	for i, commit := range []bool{true, false} {
		m := record.Marker{ProducerID: 7, ProducerEpoch: 1, Commit: commit, CoordinatorEpoch: 9}.Build(second)
		record.SetPlace(m, offset+1+int64(i), 3)
		add(m)
	}
	return log, starts
}

func write(t testing.TB, fsys *vfs.Mem, dir, name string, b []byte) {
	t.Helper()
	if err := errors.Join(fsys.MkdirAll(dir), vfs.WriteFile(fsys, dir, name, b)); err != nil {
		t.Fatal(err)
	}
}

// printed returns the lines for people and those of JSON.
func printed(t testing.TB, p *Printer, name string) (human, docs []string, err error) {
	t.Helper()
	p.Damage = 0
	p.Emit = func(l Line) error {
		b, err := json.Marshal(l)
		human, docs = append(human, l.String()), append(docs, string(b))
		return err
	}
	err = p.File(name)
	return human, docs, err
}

const logName = "t/0/00000000000000000000.log"

func logOf(t testing.TB, b []byte) *vfs.Mem {
	fsys := vfs.NewMem()
	write(t, fsys, "t/0", "00000000000000000000.log", b)
	return fsys
}

func equal(t *testing.T, got []string, want string) {
	t.Helper()
	if text := strings.Join(got, "\n"); text != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestBatchesOfALog(t *testing.T) {
	log, starts := smallLog(t)
	plain := append(append([]byte(nil), log[:starts[1]]...), log[starts[5]:]...) // sizes that no compressor decides
	p := &Printer{FS: logOf(t, append(plain, make([]byte, 5000)...)), To: -1}
	human, docs, err := printed(t, p, logName)
	if err != nil || p.Damage != 0 {
		t.Fatalf("%v, %d damaged", err, p.Damage)
	}
	equal(t, human, goldenBatches)
	equal(t, docs, goldenBatchesJSON)
	p.FS = logOf(t, log)
	if human, _, _ = printed(t, p, logName); len(human) != 9 {
		t.Errorf("%d lines, want the file and 8 batches", len(human))
	}
	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		if !strings.Contains(human[1+i], " codec="+codec+" ") {
			t.Errorf("batch %d: %s, want %s", i, human[1+i], codec)
		}
	}
}

func TestRecordsOfALog(t *testing.T) {
	log, _ := smallLog(t)
	p := &Printer{FS: logOf(t, log), From: 9, To: -1, Records: true}
	human, docs, err := printed(t, p, logName)
	if err != nil || p.Damage != 0 {
		t.Fatalf("%v, %d damaged", err, p.Damage)
	}
	equal(t, human, goldenRecords)
	equal(t, docs, goldenRecordsJSON)
	p.From, p.To = 3, 5
	if human, _, _ = printed(t, p, logName); len(human) != 3 || !strings.Contains(human[1], "offset=3") || !strings.Contains(human[2], "offset=4") {
		t.Errorf("from 3 to 5: %q", human)
	}
}

func TestADamagedBatchInTheMiddleIsSkipped(t *testing.T) {
	whole, starts := smallLog(t)
	for _, at := range []int{starts[2] + 8, starts[2] + 16, starts[2] + 70} { // length, magic, records
		log := append([]byte(nil), whole...)
		log[at] ^= 0x41
		p := &Printer{FS: logOf(t, log), To: -1}
		human, _, err := printed(t, p, logName)
		if err != nil || p.Damage != 1 || len(human) != 9 {
			t.Fatalf("byte %d: %v, %d damaged, %q", at, err, p.Damage, human)
		}
		if !strings.HasPrefix(human[3], "damage ") || !strings.Contains(human[3], "the next sound batch is at byte") || !strings.Contains(human[4], "first_offset=6 ") {
			t.Errorf("byte %d: %q", at, human[3:5])
		}
	}
	last := starts[len(starts)-1]
	p := &Printer{FS: logOf(t, whole[:last+20]), To: -1}
	human, _, err := printed(t, p, logName)
	if err != nil || p.Damage != 1 || !strings.Contains(human[len(human)-1], "no sound batch follows") {
		t.Errorf("cut off: %v, %q", err, human[len(human)-1])
	}
}

func TestWhatTheNodeIsWritingIsReadAgain(t *testing.T) {
	log, starts := smallLog(t)
	last := starts[len(starts)-1]
	half := append(append([]byte(nil), log[:last+30]...), make([]byte, len(log)-last-30)...)
	fsys := logOf(t, half)
	p := &Printer{FS: fsys, To: -1, Settle: func() { fsys.Corrupt(logName, func([]byte) []byte { return log }) }}
	human, _, err := printed(t, p, logName)
	if err != nil || p.Damage != 0 || len(human) != 9 {
		t.Errorf("%v, %q", err, human)
	}
}

func TestOwnTopicsAreDecoded(t *testing.T) {
	h := hit.Hit{SiteID: 1, Site: "shop.example", TimeMs: second, Kind: hit.Pageview, Path: "/a"}
	value := kmsg.NewOffsetCommitValue()
	value.Version, value.Offset, value.CommitTimestamp = 3, 42, second
	state := kmsg.NewTxnMetadataValue()
	state.Version, state.ProducerID, state.State = 1, 7, kmsg.TransactionStateOngoing
	state.Topics = []kmsg.TxnMetadataValueTopic{{Topic: "orders", Partitions: []int32{2}}}
	group := kmsg.GroupMetadataValue{Version: 3, ProtocolType: "consumer", Generation: 5}
	for _, c := range []struct {
		topic, as  string
		key, value []byte
		want       []string
	}{
		{"events", "hits", nil, hit.Append(nil, &h), []string{`"site":"shop.example"`, `"path":"/a"`}},
		{"rollup.minute", "cells", []byte("k"), []byte(`{"a": 1}`), []string{`"value":{"a":1}`}},
		{"__consumer_offsets", "offsets", (&kmsg.OffsetCommitKey{Version: 1, Group: "g", Topic: "orders", Partition: 2}).AppendTo(nil), value.AppendTo(nil),
			[]string{`"group":"g"`, `"topic":"orders"`, `"offset":42`}},
		{"__consumer_offsets", "offsets", (&kmsg.GroupMetadataKey{Version: 2, Group: "g"}).AppendTo(nil), group.AppendTo(nil), []string{`"generation":5`}},
		{"__consumer_offsets", "offsets", (&kmsg.GroupMetadataKey{Version: 2, Group: "g"}).AppendTo(nil), nil, []string{`"group":"g"`, `"value":null`}},
		{"__transaction_state", "transactions", (&kmsg.TxnMetadataKey{TransactionalID: "w"}).AppendTo(nil), state.AppendTo(nil),
			[]string{`"transactional_id":"w"`, `"state":"Ongoing"`, `"orders":[2]`}},
		{"rollup.deltas", "deltas", nil, []byte{0xff}, []string{`"value_error":`, `"value_hex":"ff"`}},
	} {
		for _, named := range []bool{true, false} {
			fsys := logOf(t, batch(t, record.None, 0, nil, record.Record{Key: c.key, Value: c.value}))
			p := &Printer{FS: fsys, To: -1, Records: true}
			if named {
				write(t, fsys, "t", "topic.json", []byte(`{"name":"`+c.topic+`"}`))
			} else {
				p.As = c.as
			}
			_, docs, err := printed(t, p, "t/0")
			if err != nil || len(docs) != 2 {
				t.Fatalf("%s: %v, %q", c.topic, err, docs)
			}
			for _, w := range c.want {
				if !strings.Contains(docs[1], w) {
					t.Errorf("%s: %s, want %s", c.topic, docs[1], w)
				}
			}
		}
	}
}

func TestOtherFilesAreRefusedWithTheKinds(t *testing.T) {
	fsys := vfs.NewMem()
	write(t, fsys, "d", "identity.json", []byte("{}"))
	for _, name := range []string{"d/identity.json", "d"} {
		if _, _, err := printed(t, &Printer{FS: fsys, To: -1}, name); !errors.Is(err, ErrKind) {
			t.Errorf("%s: %v, want ErrKind", name, err)
		}
	}
}

// Property: no bytes make a file of any kind panic, and what is printed is JSON.
func FuzzFiles(f *testing.F) {
	names := []string{"0.log", "0.rix", "0.rix.data", "0.timeindex", "0.txnindex", "meta", "ckpt-1", "anchor-1", "hardstate.wal"}
	log, _ := smallLog(f)
	for i := range names {
		f.Add(byte(i), log)
		f.Add(byte(i), []byte{})
	}
	made := closedLog(f)
	for i, name := range []string{"00000000000000000000.log", "00000000000000000000.rix", "00000000000000000000.txnindex", "meta"} {
		b, err := vfs.ReadFile(made, "p/"+name, maxFile)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte{0, 1, 4, 5}[i], b)
	}
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		fsys := vfs.NewMem()
		name := names[int(kind)%len(names)]
		write(t, fsys, "d", name, b)
		for _, as := range append(Formats, "") {
			p := &Printer{FS: fsys, To: -1, As: as, Records: kind&0x80 != 0 || as != ""}
			_, docs, err := printed(t, p, "d/"+name)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				if !json.Valid([]byte(d)) {
					t.Fatalf("not JSON: %s", d)
				}
			}
		}
	})
}

// Property: keys and values of any bytes are decoded or refused, and never panic.
func FuzzRecords(f *testing.F) {
	f.Add((&kmsg.OffsetCommitKey{Version: 1, Group: "g", Topic: "t"}).AppendTo(nil), []byte{0, 3, 0, 0})
	f.Add((&kmsg.GroupMetadataKey{Version: 2, Group: "g"}).AppendTo(nil), []byte{0, 3, 0, 0})
	f.Add([]byte{0, 0, 0, 1, 'w'}, []byte{0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, as := range append(Formats, "") {
			l := line("record")
			decoderOf(as, "").add(&l, record.Record{Key: key, Value: value})
			if b, err := json.Marshal(l); err != nil || !json.Valid(b) || l.String() == "" {
				t.Fatalf("%s: %v, %s", as, err, b)
			}
		}
	})
}
