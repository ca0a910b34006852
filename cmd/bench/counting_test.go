package bench

import (
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup"
)

func TestAShapeIsWhatItSays(t *testing.T) {
	for _, shape := range Shapes() {
		shape.Hits = 500
		before := time.Now().Add(-shape.Span).UnixMilli()
		values, partitions := shape.make()
		if len(values) != shape.Hits || len(partitions) != shape.Hits {
			t.Fatalf("%s: %d hits in %d partitions", shape.Name, len(values), len(partitions))
		}
		sites, pages, last := map[uint32]bool{}, map[string]bool{}, before
		var h hit.Hit
		for i, value := range values {
			if err := hit.Borrow(value, &h); err != nil {
				t.Fatal(err)
			}
			if h.TimeMs < last || h.TimeMs > h.ReceivedMs || h.SiteID < 1 || int(h.SiteID) > shape.Sites || partitions[i] >= rollup.Partitions {
				t.Fatalf("%s: hit %d is %+v in partition %d", shape.Name, i, h, partitions[i])
			}
			sites[h.SiteID], pages[string([]byte(h.Path))], last = true, true, h.TimeMs
		}
		if shape.Pages == 0 && len(pages) != shape.Hits || shape.Pages > 0 && len(pages) > shape.Pages || shape.Sites > 1 && len(sites) < 2 {
			t.Errorf("%s: %d pages of %d sites", shape.Name, len(pages), len(sites))
		}
	}
}

// Count returns only when the table has every hit, so that a short measurement is not one of half the work.
func TestCountCountsToTheEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a log")
	}
	c, err := Count(t.Context(), t.TempDir(), Shape{"a few", 3, 5, time.Hour, 2500})
	if err != nil {
		t.Fatal(err)
	}
	if c.Hits != 2500 || c.Bare <= 0 || c.CPU <= c.Bare || len(c.Written) != 4 {
		t.Errorf("got %+v", c)
	}
	for topic, n := range c.Written {
		if n == 0 {
			t.Errorf("nothing was written to %s", topic)
		}
	}
}

// BenchmarkCount is what weir bench --only counting measures, with the records that a hit costs, and for profiles.
func BenchmarkCount(b *testing.B) {
	for _, shape := range Shapes() {
		b.Run(shape.Name, func(b *testing.B) {
			var used time.Duration
			for range b.N {
				c, err := Count(b.Context(), b.TempDir(), shape)
				if err != nil {
					b.Fatal(err)
				}
				used += c.CPU
				for topic, n := range c.Written {
					b.ReportMetric(float64(n)/float64(c.Hits), topic+"/hit")
				}
			}
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*shape.Hits), "cpu-ns/hit")
		})
	}
}
