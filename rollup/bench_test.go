package rollup

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/internal/oracle"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

// shape is a kind of traffic that counting is measured with.
type shape struct {
	name  string
	sites int
	pages int // of each site; 0: each hit has a page of its own
	span  time.Duration
	hits  int
}

// shapes are ordinary traffic, and what is hard to count: many sites with a few hits each, pages that never come twice, history that is
// thinly spread.
var shapes = []shape{
	{"busy", 10, 300, 10 * time.Minute, 400_000},
	{"mixed", 100, 300, 10 * time.Minute, 400_000},
	{"thin", 1000, 300, time.Minute, 60_000},
	{"pages", 1, 0, time.Minute, 60_000},
	{"sparse", 1, 300, 7000 * time.Hour, 60_000},
}

// records makes the hits of a shape up, in order of their time.
func (tr shape) records(to time.Time) []*kgo.Record {
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.2, 4, uint64(tr.sites-1))
	pages := rand.NewZipf(rng, 1.1, 3, uint64(max(tr.pages-1, 0)))
	records := make([]*kgo.Record, tr.hits)
	from := to.Add(-tr.span)
	for i := range records {
		at := from.UnixMilli() + int64(i)*tr.span.Milliseconds()/int64(tr.hits)
		site, page := uint32(zipf.Uint64()+1), pages.Uint64()
		if tr.pages == 0 {
			page = uint64(i)
		}
		h := hit.Hit{SiteID: site, Site: fmt.Sprintf("site%d.example", site), TimeMs: at, ReceivedMs: to.UnixMilli(), Kind: hit.Pageview,
			ID: hit.ID{Source: "import", Seq: uint64(i + 1)}, Visitor: rng.Uint64N(20000)*0x9e3779b97f4a7c15 + 1,
			Host: "www.example.com", Path: fmt.Sprintf("/blog/%d/a-title-of-some-length", page), Referrer: "https://news.example/item",
			RefHost: []string{"", "news.example", "t.co", "www.google.com"}[rng.IntN(4)], Country: []string{"DE", "US", "FR", "GB", "JP", ""}[rng.IntN(6)],
			Browser: []string{"Chrome", "Safari", "Firefox"}[rng.IntN(3)], OS: []string{"Windows", "iOS", "Android", "macOS"}[rng.IntN(4)],
			Device: []string{"desktop", "mobile"}[rng.IntN(2)], Agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/135.0.0.0 Safari/537.36"}
		records[i] = &kgo.Record{Topic: TopicEvents, Partition: int32(h.Visitor % Partitions), Value: hit.Append(nil, &h)}
	}
	return records
}

// cpuTime is what this process has used of all cores.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkCounting is everything from the log to the table, on our own log in this process: fetch, decode, tally, three folds, publish,
// commit, and the table that reads the cells. The hits lie in the log when counting begins. What counts is CPU time, of both sides of
// every connection.
func BenchmarkCounting(b *testing.B) {
	for _, tr := range shapes {
		b.Run(tr.name, func(b *testing.B) {
			many := map[uint32]string{}
			for i := range tr.sites {
				many[uint32(i+1)] = "Europe/Berlin"
			}
			var used time.Duration
			for range b.N {
				b.StopTimer()
				bench := newBench(b, newOwnLog(b))
				bench.sites, bench.oracle = sitesOf(many), oracle.New(many)
				records := tr.records(time.Now())
				for chunk := range slices.Chunk(records, 20_000) {
					bench.sendRecords(chunk)
				}
				for _, r := range records {
					bench.ends[r.Partition]++
				}
				runtime.GC()
				before := cpuTime(b)
				b.StartTimer()
				bench.start()
				bench.settle()
				b.StopTimer()
				used += cpuTime(b) - before
				for _, topic := range []string{TopicDeltas, TopicMinute, TopicHour, TopicDay} {
					bounds, err := feed.PartitionBounds(b.Context(), bench.client, topic)
					if err != nil {
						b.Fatal(err)
					}
					written := int64(0)
					for _, p := range bounds {
						written += p.End
					}
					b.ReportMetric(float64(written)/float64(tr.hits), topic+"/hit")
				}
				bench.stop()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*tr.hits)/used.Seconds(), "hits/s/core")
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*tr.hits), "cpu-ns/hit")
		})
	}
}

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
