package rollup

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

// BenchmarkQuery asks about 400 days of a site with 300 pages.
func BenchmarkQuery(b *testing.B) {
	bench := newBench(b, &testLog{seeds: []string{"127.0.0.1:1"}})
	bench.open()
	defer bench.room.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	first := int64(1_700_000_000) / 86400 * 86400
	for partition := range int32(Partitions) {
		var records []*kgo.Record
		add := func(key, value []byte) {
			records = append(records, &kgo.Record{Offset: int64(len(records)), Key: key, Value: value})
		}
		for d := range int64(400) {
			for _, rep := range []struct {
				name string
				rows int
			}{{"total", 1}, {"country", 40}, {"page", 100}} {
				c := bucket.Cell{ID: bucket.ID{SiteID: 1, Generation: 1, Window: "day", Start: first + d*86400, Partition: partition, Report: rep.name}, FoldedTo: 1}
				kind := sketch.Row
				if rep.name == "total" {
					kind = sketch.Total
				}
				for i := range rep.rows {
					s := sketch.New(kind)
					for range 200 / (i + 1) {
						s.Insert(rng.Uint64())
					}
					c.Rows = append(c.Rows, bucket.Row{Key: fmt.Sprint("/page/", i*3), Counts: bucket.Counts{Hits: 300, Pageviews: 300}, Visitors: s.Count(), Sketch: s.Append(nil)})
				}
				add(c.AppendKey(nil), c.AppendJSON(nil))
			}
		}
		progress := bucket.Progress{Window: "day", Partition: partition, FoldedTo: 1, SourceTo: 1}
		add(progress.AppendKey(nil), progress.AppendJSON(nil))
		if err := bench.room.table.Take(zone.Day, partition, records); err != nil {
			b.Fatal(err)
		}
	}
	from, to := time.Unix(first, 0), time.Unix(first+400*86400, 0)
	for _, q := range []Query{{Site: 1, Every: "day"}, {Site: 1}, {Site: 1, By: "country"}, {Site: 1, By: "page"}} {
		b.Run("by="+q.By+",every="+q.Every, func(b *testing.B) {
			q.From, q.To = from, to
			b.ReportAllocs()
			for range b.N {
				p, err := bench.room.plan(q)
				if err != nil {
					b.Fatal(err)
				}
				view := bench.room.table.View()
				if err := p.bound(view, q); err != nil {
					b.Fatal(err)
				}
				c := newCollector(p)
				c.unit = zone.Day
				if err := view.Walk(table.Range{Unit: zone.Day, Site: 1, Generation: 1, Report: p.report, From: p.from, To: p.to}, c.cell); err != nil {
					b.Fatal(err)
				}
				rows, err := c.finish(0)
				if err != nil || len(rows) == 0 {
					b.Fatal(len(rows), err)
				}
				view.Close()
			}
		})
	}
}
