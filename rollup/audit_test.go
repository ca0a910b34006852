package rollup

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/zone"
)

// audit recounts every site from the raw log, which has to give what is counted.
func (b *bench) audit() {
	b.t.Helper()
	for site := range b.sites.State().Sites {
		got, err := b.room.Audit(context.Background(), AuditQuery{Site: site}, nil)
		if err != nil {
			b.t.Fatalf("audit site %d: %v", site, err)
		}
		if got.Since.IsZero() == b.gone {
			b.t.Errorf("audit site %d: since %s, though events were deleted: %v", site, got.Since, b.gone)
		}
		for _, d := range got.Differences {
			b.t.Errorf("audit site %d: %s", site, d)
		}
		if got.More > 0 {
			b.t.Errorf("audit site %d: %d more differences", site, got.More)
		}
		if b.gone {
			continue
		}
		answer, err := b.room.Query(context.Background(), Query{Site: site})
		if err != nil {
			b.t.Fatal(err)
		}
		if row := answer.Rows[0]; row.Hits != got.Totals.Hits || row.Pageviews != got.Totals.Pageviews || row.Visits != got.Totals.Visits {
			b.t.Errorf("audit site %d: recounted %+v in all, the answer is %+v", site, got.Totals, row)
		}
		if got.Totals.Hits > 0 && got.Rows == 0 {
			b.t.Errorf("audit site %d: no row was compared", site)
		}
	}
}

// TestAnAuditFindsAWrongCount: somebody writes a cell with one page view more than the events tell of.
func TestAnAuditFindsAWrongCount(t *testing.T) {
	t.Parallel()
	b := newBench(t, newFakeLog(t))
	b.start()
	b.send(traffic(21, 20*time.Hour), 600)
	b.settle()
	b.send(traffic(23, 20*time.Hour), 60)
	b.settle()
	b.audit()
	b.stop()

	wrong, progress := b.oldCell()
	wrong.Rows[0].Pageviews++
	wrong.Rows[0].Hits++
	wrong.FoldedTo = progress.FoldedTo
	produce := func(key, value []byte) {
		t.Helper()
		if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: TopicHour, Partition: wrong.Partition, Key: key, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	produce(wrong.AppendKey(nil), wrong.AppendJSON(nil))
	produce(progress.AppendKey(nil), progress.AppendJSON(nil))
	b.start()
	b.send(traffic(22, time.Hour), 20) // so that the table goes on
	b.settle()
	got, err := b.room.Audit(t.Context(), AuditQuery{Site: wrong.SiteID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, d := range got.Differences {
		if d.Unit != zone.Hour || d.Start.Unix() != wrong.Start || d.Partition != wrong.Partition || d.Report != wrong.Report {
			t.Errorf("a difference where nothing is wrong: %s", d)
		}
		found[d.Measure] = d.Counted - d.Recounted
	}
	if len(found) != 2 || found["pageviews"] != 1 || found["hits"] != 1 {
		t.Errorf("found %v, want one page view and one hit too many", found)
	}
	rng := rand.New(rand.NewPCG(21, 21))
	from := wrong.Start + int64(rng.IntN(60))*60 + 3600
	got, err = b.room.Audit(t.Context(), AuditQuery{Site: wrong.SiteID, From: time.Unix(from, 0)}, nil)
	if err != nil || len(got.Differences) > 0 {
		t.Errorf("later hours: %v %v", got.Differences, err)
	}
	if _, err := b.room.Audit(t.Context(), AuditQuery{Site: 99}, nil); !errors.Is(err, ErrNoSite) {
		t.Errorf("a site that does not exist: %v", err)
	}
}

// oldCell returns the total of an hour that was published before the last progress of its partition, and that progress.
func (b *bench) oldCell() (bucket.Cell, bucket.Progress) {
	b.t.Helper()
	cells, last := map[int32]bucket.Cell{}, map[int32]bucket.Progress{}
	each := func(r *kgo.Record) error {
		if bucket.IsProgressKey(r.Key) {
			var p bucket.Progress
			err := p.ParseJSON(r.Value)
			last[r.Partition] = p
			return err
		}
		id, err := bucket.ParseKey(r.Key)
		if err != nil {
			return err
		}
		c := bucket.Cell{ID: id}
		if err := c.ParseJSON(r.Value); err != nil {
			return err
		}
		if _, ok := cells[r.Partition]; !ok && c.Report == report.Total && len(c.Rows) > 0 {
			cells[r.Partition] = c
		}
		if first, ok := cells[r.Partition]; ok && first.ID == c.ID {
			cells[r.Partition] = c // the last one of its key
		}
		return nil
	}
	log := feed.Log{Seeds: b.log.seeds, Dialer: b.log.dial, Logger: logger(b.t)}
	bounds, err := feed.PartitionBounds(b.t.Context(), b.client, TopicHour)
	if err != nil {
		b.t.Fatal(err)
	}
	var ranges []feed.Range
	for partition, at := range bounds {
		ranges = append(ranges, feed.Range{Partition: partition, From: at.Start, To: at.End})
	}
	if _, err := log.Read(b.t.Context(), TopicHour, ranges, each); err != nil {
		b.t.Fatal(err)
	}
	for partition, c := range cells {
		if p, ok := last[partition]; ok && c.FoldedTo < p.FoldedTo {
			return c, p
		}
	}
	b.t.Fatal("no hour was published before the last flush of its partition")
	return bucket.Cell{}, bucket.Progress{}
}
