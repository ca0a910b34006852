package tally

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// nowhere is a Store that keeps nothing.
type nowhere struct{}

func (nowhere) Load(int32) (Saved, bool, error) { return Saved{}, false, nil }
func (nowhere) Save(int32, Change) error        { return nil }
func (nowhere) Forget(int32) error              { return nil }

type sites struct{ state *state.State }

func (s sites) State() *state.State { return s.state }

func newTestTally(n int) *Tally {
	s := &state.State{Sites: map[state.SiteID]state.Site{}, NextSiteID: uint32(n + 1)}
	for i := range n {
		s.Sites[uint32(i+1)] = state.Site{ID: uint32(i + 1), Name: fmt.Sprintf("site%d.example", i+1)}
	}
	return &Tally{Deltas: "deltas", Events: "events", Sites: sites{s}, Store: nowhere{}, Metrics: NewMetrics(nil),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// liveHits makes up ordinary traffic of n sites, some much larger than others: page views with the fields that pages send.
func liveHits(n, count int) []*kgo.Record {
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.2, 4, uint64(n-1))
	pages := rand.NewZipf(rng, 1.1, 3, 300)
	records := make([]*kgo.Record, count)
	now := int64(1_770_000_000_000)
	for i := range records {
		now += int64(rng.IntN(2))
		site := uint32(zipf.Uint64() + 1)
		h := hit.Hit{SiteID: site, Site: fmt.Sprintf("site%d.example", site), TimeMs: now, ReceivedMs: now, Kind: hit.Pageview,
			ID: hit.ID{Source: "node-1-boot-7", Seq: uint64(i + 1)}, Visitor: rng.Uint64N(20000)*0x9e3779b97f4a7c15 + 1,
			Host: "www.example.com", Path: fmt.Sprintf("/blog/%d/a-title-of-some-length", pages.Uint64()), Referrer: "https://news.example/item",
			RefHost: []string{"", "news.example", "t.co", "www.google.com"}[rng.IntN(4)], Country: []string{"DE", "US", "FR", "GB", "JP", ""}[rng.IntN(6)],
			Browser: []string{"Chrome", "Safari", "Firefox"}[rng.IntN(3)], OS: []string{"Windows", "iOS", "Android", "macOS"}[rng.IntN(4)],
			Device: []string{"desktop", "mobile"}[rng.IntN(2)], Agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/135.0.0.0 Safari/537.36"}
		records[i] = &kgo.Record{Value: hit.Append(nil, &h)}
	}
	return records
}

// BenchmarkTally is a partition without the log: decode, drop repeats, add, encode.
func BenchmarkTally(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("sites=%d", n), func(b *testing.B) {
			records := liveHits(n, 100_000)
			t := newTestTally(n)
			var p *Partition
			ctx, now := context.Background(), time.Now()
			deltas, bytes := 0, 0
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; {
				p = &Partition{t: t, dedup: newDedup([16]byte{}, Saved{}), inc: newIncrements(), visits: noVisits(), stateAt: now}
				for from := 0; from < len(records) && i < b.N; {
					chunk := records[from:min(from+2000, len(records))]
					for j := range chunk {
						chunk[j].Offset = int64(from + j)
					}
					taken, err := p.Add(ctx, chunk, now)
					if err != nil {
						b.Fatal(err)
					}
					from += taken
					i += taken
					if taken == len(chunk) && from%20_000 != 0 {
						continue
					}
					out, err := p.Flush(ctx, now)
					if err != nil {
						b.Fatal(err)
					}
					for k, r := range out {
						r.Offset = p.at + int64(k)
						deltas++
						bytes += len(r.Value)
					}
					if err := p.Flushed(out, now); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "delta-B/hit")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hits/s")
		})
	}
}
