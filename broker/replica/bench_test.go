package replica

import (
	"context"
	"fmt"
	"testing"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

// BenchmarkAppend appends batches on the real disk, synced, by one voter. The
// number after the slash is how many batches are under way at a time.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
		for _, window := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("%dKiB/%d", size>>10, window), func(b *testing.B) {
				n := newNode(b, vfs.OS{}, b.TempDir())
				r := n.open(n.config(0))
				benchAppend(b, r, size, window)
			})
		}
	}
}

func benchAppend(b *testing.B, r *Replica, size, window int) {
	batch := batchOf(b, string(make([]byte, size-record.HeaderSize-10)))
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	under := make(chan *Pending, window)
	done := make(chan error, 1)
	go func() {
		var first error
		for p := range under {
			if _, err := p.Result(); err != nil && first == nil {
				first = err
			}
		}
		done <- first
	}()
	b.ResetTimer()
	for range b.N {
		under <- r.Append(context.Background(), append([]byte(nil), batch...))
	}
	close(under)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
}

// BenchmarkLog appends straight to the log, to see what raft costs.
func BenchmarkLog(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		for _, group := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%dKiB/%d", size>>10, group), func(b *testing.B) {
				l, err := seglog.Open(seglog.Config{FS: vfs.OS{}, Dir: b.TempDir(), Shared: seglog.NewShared(seglog.Limits{})})
				must(b, err)
				batch := batchOf(b, string(make([]byte, size-record.HeaderSize-10)))
				record.SetPlace(batch, 0, -1)
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				index := uint64(0)
				b.ResetTimer()
				for i := 0; i < b.N; i += group {
					entries := make([]seglog.Entry, group)
					for j := range entries {
						index++
						entries[j] = seglog.Entry{Index: index, Term: 1, Kind: seglog.KindBatch, Data: append([]byte(nil), batch...)}
					}
					must(b, l.Append(entries))
				}
				b.StopTimer()
				must(b, l.Close())
			})
		}
	}
}
