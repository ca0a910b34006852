package table

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// flushOf makes the records of a flush with one cell, at an offset, and the cell in the form of the table.
func flushOf(n int, offset int64) ([]*kgo.Record, []Cell) {
	c := bucket.Cell{ID: cellOf(n), Site: "a.example", FoldedTo: int64(n + 1), SourceTo: int64(n + 1), Rows: []bucket.Row{{Counts: bucket.Counts{Hits: 1}}}}
	p := bucket.Progress{Window: zone.Minute.String(), Partition: 3, FoldedTo: int64(n + 1), SourceTo: int64(n + 1), ReceivedMs: 1}
	return []*kgo.Record{{Offset: offset, Key: c.AppendKey(nil), Value: c.AppendJSON(nil)}, {Offset: offset + 1, Key: p.AppendKey(nil), Value: p.AppendJSON(nil)}},
		[]Cell{{ID: c.ID, FoldedTo: c.FoldedTo, Rows: c.AppendRows(nil)}}
}

// TestCellsThatAreHandedOverAreThoseThatAreRead: the same flushes, handed over in either form, read, or both, leave the same table.
func TestCellsThatAreHandedOverAreThoseThatAreRead(t *testing.T) {
	table := openTable(t, filepath.Join(t.TempDir(), "table"))
	defer table.Close()
	for n := range 100 {
		records, cells := flushOf(n, int64(2*n))
		if n%3 == 0 {
			if err := table.Take(zone.Minute, 3, records[:n%2+1]); err != nil {
				t.Fatal(err)
			}
		}
		switch n % 4 {
		case 0:
			cells = nil
		case 1:
			if err := table.Take(zone.Minute, 3, records); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.Feed(zone.Minute, 3, records, cells); err != nil {
			t.Fatal(err)
		}
		if err := table.Take(zone.Minute, 3, records); err != nil { // what was handed over may be read too
			t.Fatal(err)
		}
	}
	if got := whole(t, table); got != 100 {
		t.Errorf("the table holds %d flushes, want 100", got)
	}
}

// TestAPartitionThatIsNotHandedOverWholeIsRead: after a gap the table reads, until what is handed over joins up again.
func TestAPartitionThatIsNotHandedOverWholeIsRead(t *testing.T) {
	table := openTable(t, filepath.Join(t.TempDir(), "table"))
	defer table.Close()
	feed := func(n int) {
		t.Helper()
		records, cells := flushOf(n, int64(2*n))
		if err := table.Feed(zone.Minute, 3, records, cells); err != nil {
			t.Fatal(err)
		}
	}
	fed := func() bool { return table.part(partID{zone.Minute, 3}).fed }
	table.Expect(zone.Minute, 3, 1)
	if fed() {
		t.Error("a record before what is announced is missing, and the partition is not read")
	}
	if table.Expect(zone.Minute, 3, 0); !fed() {
		t.Error("what comes is announced, and the partition is read on")
	}
	if feed(0); !fed() {
		t.Error("the first flush joins up, and the partition is read on")
	}
	if feed(2); fed() {
		t.Error("a flush is missing, and the partition is not read")
	}
	if got := whole(t, table); got != 1 {
		t.Errorf("the table holds %d flushes, want 1", got)
	}
	for n := 1; n < 3; n++ {
		records, _ := flushOf(n, int64(2*n))
		if err := table.Take(zone.Minute, 3, records); err != nil {
			t.Fatal(err)
		}
	}
	if feed(3); !fed() {
		t.Error("the flush joins up again, and the partition is read on")
	}
	table.Unfeed(zone.Minute, 3)
	if got := whole(t, table); got != 4 || fed() {
		t.Errorf("the table holds %d flushes, want 4; handed over: %v", got, fed())
	}
}
