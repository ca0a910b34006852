package table

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

func openTable(t *testing.T, dir string) *Table {
	t.Helper()
	table, err := Open(Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// fill takes flushes of one cell each, numbered from the first to before the last.
func fill(t *testing.T, table *Table, first, last int) {
	t.Helper()
	for n := first; n < last; n++ {
		c := bucket.Cell{ID: cellOf(n), Site: "a.example"}
		c.FoldedTo, c.SourceTo = int64(n+1), int64(n+1)
		c.Rows = []bucket.Row{{Counts: bucket.Counts{Hits: 1}}}
		p := bucket.Progress{Window: zone.Minute.String(), Partition: 3, FoldedTo: int64(n + 1), SourceTo: int64(n + 1), ReceivedMs: 1}
		err := table.Take(zone.Minute, 3, []*kgo.Record{
			{Offset: int64(2 * n), Key: c.AppendKey(nil), Value: c.AppendJSON(nil)},
			{Offset: int64(2*n + 1), Key: p.AppendKey(nil), Value: p.AppendJSON(nil)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func cellOf(n int) bucket.ID {
	return bucket.ID{Window: zone.Minute.String(), SiteID: 1, Generation: 1, Start: int64(n) * 60, Report: "total", Partition: 3}
}

// whole checks that a table holds the cells of exactly the flushes that its position speaks of, and returns their number.
func whole(t *testing.T, table *Table) int {
	t.Helper()
	progress, _, err := table.Progress(zone.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 300 {
		shards, err := table.Cell(zone.Minute, cellOf(n))
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(n) < progress.FoldedTo; want != (len(shards) == 1) {
			t.Fatalf("cell %d: %d shards, though the table is folded up to %d", n, len(shards), progress.FoldedTo)
		}
	}
	return int(progress.FoldedTo)
}

func TestAStopLeavesNothingToALogOfTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	table := openTable(t, dir)
	fill(t, table, 0, 100)
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range glob(t, filepath.Join(dir, "*.log")) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	table = openTable(t, dir)
	defer table.Close()
	if got := whole(t, table); got != 100 {
		t.Errorf("%d flushes are left, want 100", got)
	}
}

func TestACrashLeavesTheTableOfOneMoment(t *testing.T) {
	root := t.TempDir()
	table := openTable(t, filepath.Join(root, "table"))
	defer table.Close()
	fill(t, table, 0, 100)
	if err := table.flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	fill(t, table, 100, 200) // in memory only
	for name, damage := range map[string]func(string) error{"kept": nil, "emptied": func(f string) error { return os.Truncate(f, 0) }, "gone": os.Remove} {
		crashed := filepath.Join(root, name)
		if err := os.CopyFS(crashed, os.DirFS(filepath.Join(root, "table"))); err != nil {
			t.Fatal(err)
		}
		if damage != nil {
			for _, file := range glob(t, filepath.Join(crashed, "*.log")) {
				if err := damage(file); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := openTable(t, crashed)
		if got := whole(t, after); got != 100 {
			t.Errorf("%s: %d flushes are left, want 100", name, got)
		}
		fill(t, after, 100, 300)
		if got := whole(t, after); got != 300 {
			t.Errorf("%s: %d flushes after reading on, want 300", name, got)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATableOfAnotherSchemaIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	table := openTable(t, dir)
	fill(t, table, 0, 10)
	if err := table.db.Set([]byte{'v'}, []byte{schema - 1}, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	table = openTable(t, dir)
	defer table.Close()
	if got := whole(t, table); got != 0 {
		t.Errorf("%d flushes are left, want a new table", got)
	}
	if aside := glob(t, dir+".old-*"); len(aside) != 1 {
		t.Errorf("set aside %v, want one directory", aside)
	}
}

func TestDamageFoundWhileReadingIsMendedByTheNextStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	table := openTable(t, dir)
	fill(t, table, 0, 10)
	id := cellOf(4)
	if err := table.db.Set(cellKey(nil, zone.Minute, &id), []byte{99, 0}, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if table.Damaged() != nil {
		t.Fatalf("damaged before it was read: %v", table.Damaged())
	}
	if _, err := table.Cell(zone.Minute, id); !errors.Is(err, ErrDamaged) {
		t.Fatalf("read a damaged cell: %v", err)
	}
	if table.Damaged() == nil {
		t.Error("the table does not say that it is damaged")
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	table = openTable(t, dir)
	defer table.Close()
	if got := whole(t, table); got != 0 || table.Damaged() != nil {
		t.Errorf("%d flushes are left (%v), want a new table", got, table.Damaged())
	}
}
