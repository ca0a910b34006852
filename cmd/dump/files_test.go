package dump

import (
	"strings"
	"testing"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

// closedLog is a disk with a log of three batches, one of them aborted, in the directory p.
func closedLog(t testing.TB) *vfs.Mem {
	t.Helper()
	fsys := vfs.NewMem()
	l, err := seglog.Open(seglog.Config{FS: fsys, Dir: "p", Shared: seglog.NewShared(seglog.Limits{CacheBytes: 4 << 10, OpenSegments: 2})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		e := seglog.Entry{Index: uint64(i + 1), Term: 3, Kind: seglog.KindBatch, Data: batch(t, record.None, int64(i), nil, record.Record{Value: []byte("v")})}
		if err := l.Append([]seglog.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	l.AddAborted([]seglog.Aborted{{ProducerID: 7, FirstOffset: 0, LastOffset: 2, LastStableOffset: 3}})
	if _, err := l.SyncAborted(3); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return fsys
}

func TestFilesBesideASegment(t *testing.T) {
	const base = "p/00000000000000000000"
	for _, c := range []struct {
		file    string
		flip    int // byte to damage
		want    string
		damaged string
	}{
		{base + ".rix", 64 + 24, "slot position=88 entry=2 term=3 type=batch offset=1 count=1", "position=88 what=\"not a whole slot\""},
		{base + ".txnindex", 0, "aborted producer_id=7 first_offset=0 marker_offset=2 last_stable_offset=3", "position=0"},
		{"p/meta", 8192 + 20, "meta position=8192", "position=8192 what=\"this copy is not whole\""},
	} {
		fsys := closedLog(t)
		p := &Printer{FS: fsys, To: -1}
		human, _, err := printed(t, p, c.file)
		if err != nil || p.Damage != 0 || !strings.Contains(strings.Join(human, "\n"), c.want) {
			t.Errorf("%s: %v, %q, want %q", c.file, err, human, c.want)
		}
		fsys.Corrupt(c.file, func(b []byte) []byte {
			b[c.flip] ^= 0x10
			return b
		})
		human, _, err = printed(t, p, c.file)
		if err != nil || p.Damage == 0 || !strings.Contains(strings.Join(human, "\n"), c.damaged) {
			t.Errorf("%s damaged: %v, %q, want %q", c.file, err, human, c.damaged)
		}
	}
}
