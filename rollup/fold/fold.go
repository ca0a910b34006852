package fold

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Sites tells which sites there are, and their zones.
type Sites interface{ State() *state.State }

// Table is the on-disk copy of the topics that folds write.
type Table interface {
	// Settle returns when the table holds every record of a partition before an offset.
	Settle(ctx context.Context, unit zone.Unit, partition int32, offset int64) error
	// Settled says whether the table holds every record of a partition before an offset.
	Settled(unit zone.Unit, partition int32, offset int64) bool
	// Progress returns the last progress record of a partition, and false when there is none.
	Progress(unit zone.Unit, partition int32) (bucket.Progress, bool, error)
	// Cell returns the published shards of a cell; Shard of the id is ignored. The caller owns the result.
	Cell(unit zone.Unit, id bucket.ID) ([]bucket.Cell, error)
	// Has says whether a shard of a cell is published.
	Has(unit zone.Unit, id bucket.ID) (bool, error)
	// Generation returns the generation in which the cells of a site in a partition are whole, and since where. 0 is the first.
	Generation(unit zone.Unit, partition int32, site uint32) (generation uint32, foldedTo int64, err error)
	// Minutes returns the table as it is now and how far its minutes are, and false in the middle of a flush.
	Minutes(partition int32) (table.View, bucket.Progress, bool)
	// View returns the table as it is now.
	View() table.View
	// Expect says that what comes after an offset is handed over; Feed hands over records that are committed; Unfeed says that no more
	// will come this way.
	Expect(unit zone.Unit, partition int32, offset int64)
	Feed(unit zone.Unit, partition int32, records []*kgo.Record, cells []table.Cell) error
	Unfeed(unit zone.Unit, partition int32)
}

var _ Table = (*table.Table)(nil)

// minuteGeneration is the generation of all cells of minutes: they are UTC, so a change of zone leaves them as they are.
const minuteGeneration = 1

// Bounds of a fold. CacheBytes is a guess: the windows being filled of about 1,000 sites of ordinary traffic.
const (
	CacheBytes = 8 << 20 // of each partition
	dirtyBytes = 4 << 20 // of windows that are not published; beyond, a flush comes at once
	siteWait   = 10 * time.Second
)

// pace says how often a fold publishes.
type pace struct {
	first    time.Duration // after the first delta of a quiet time, for those that come with it
	interval time.Duration // between flushes under light traffic
	rate     int           // bytes per second that are published under heavy traffic, by longer intervals ...
	longest  time.Duration // ... up to this one ...
	behind   time.Duration // ... or as long as the fold is behind, up to this: what is late anyhow is published less often
}

// Live pages look at minutes, and so does every question about the hour that is running; hours and days may come after.
var paces = map[zone.Unit]pace{
	zone.Minute: {first: 2 * time.Millisecond, interval: 200 * time.Millisecond, rate: 1 << 20, longest: time.Second, behind: 5 * time.Second},
	zone.Hour:   {first: 20 * time.Millisecond, interval: time.Second, rate: 256 << 10, longest: 5 * time.Second, behind: 20 * time.Second},
	zone.Day:    {first: 20 * time.Millisecond, interval: time.Second, rate: 128 << 10, longest: 10 * time.Second, behind: 20 * time.Second},
}

const (
	costFactor  = 4                      // a flush that takes long is followed by a pause of this many times its length
	maxInterval = 10 * time.Second       // whatever it costs
	quietWait   = 250 * time.Millisecond // without a delta, after which nothing is gained by waiting for more ...
	quietBehind = time.Second            // ... or as long as the fold is behind, up to this: what is late comes in bursts
	rateBehind  = 4                      // a fold that is behind publishes this part of its bytes per second

	historyEvery = 10 * time.Millisecond // between portions of what waits, or as long as the last one took
)

// Fold makes the workers of one group. Its fields are set once.
type Fold struct {
	Log     feed.Log
	Deltas  string    // topic that is read
	Topic   string    // topic that is written
	Unit    zone.Unit // length of its windows
	Sites   Sites
	Table   Table
	Cache   int // bytes of each partition; 0 is CacheBytes
	Metrics *Metrics
	Logger  *slog.Logger
}

// Partition folds one partition of deltas. It implements feed.Worker.
type Partition struct {
	f         *Fold
	partition int32

	reader      delta.Reader
	next        int64 // offset of the next delta to take
	foldedTo    int64 // every delta before is in the windows or waits: the end of the last whole flush
	publishedTo int64 // every delta before is in published cells or waits
	sourceTo    int64 // every event before is in the windows or waits
	receivedMs  int64
	outEnd      int64 // end of our last flush in the topic we write
	announced   bool  // the table knows that it is handed what comes

	windows *windows
	reports reports
	dirty   []*cell
	backlog backlog
	waiting delta.Delta // memory that is used again

	state *state.State     // the version that jobs were looked for in
	jobs  []*job           // what is to be done to the cells of sites; see jobs.go
	whole map[uint32]int64 // offset from which deltas of a site are folded, where it is not 0
	inJob bool             // the flush under way is of a job

	firstAt   time.Time     // when the first flush that is not published was folded
	lastAt    time.Time     // when the last one was
	behind    time.Duration // how old the newest event of the last flush was when it was folded
	flushedAt time.Time
	began     time.Time // of the flush under way
	took      time.Duration

	out        output
	sketches   []byte // memory that is used again
	flushBytes int    // published by the last flush, before compression
	memory     prometheus.Gauge
	loaded     prometheus.Counter
}

var (
	_ feed.Worker = (*Partition)(nil)
	_ feed.Closer = (*Partition)(nil)
)

func (f *Fold) newPartition(partition int32) *Partition {
	limit := f.Cache
	if limit == 0 {
		limit = CacheBytes
	}
	return &Partition{f: f, partition: partition, windows: newWindows(f.Unit, limit), reports: reports{}, out: output{topic: f.Topic, partition: partition},
		memory: f.Metrics.memory.WithLabelValues(f.Unit.String(), strconv.Itoa(int(partition))),
		loaded: f.Metrics.loaded.WithLabelValues(f.Unit.String())}
}

// Add implements feed.Worker.
func (p *Partition) Add(ctx context.Context, records []*kgo.Record, now time.Time) (int, error) {
	if len(p.jobs) > 0 && p.jobs[0].begun {
		return 0, nil
	}
	if !p.announced {
		p.announced = true
		p.f.Table.Expect(p.f.Unit, p.partition, p.outEnd)
	}
	for i, r := range records {
		if len(p.dirty) > 0 && p.windows.bytes > p.windows.limit+dirtyBytes || p.backlog.bytes > backlogBytes(p.f.Unit) {
			return i, nil
		}
		switch {
		case r.Offset < p.next:
			continue
		case r.Offset > p.next:
			return i, fmt.Errorf("read deltas at offset %d, want %d: the log jumped", r.Offset, p.next)
		}
		p.next++
		whole, err := p.reader.Add(r.Offset, func(d *delta.Delta) error { return delta.Parse(r.Value, d) })
		if err != nil {
			p.skip(skippedGarbage)
			continue
		}
		if len(whole) == 0 {
			continue
		}
		if p.foldedTo == p.publishedTo {
			p.firstAt = now
		}
		p.lastAt = now
		if err := p.fold(ctx, whole, p.next-int64(len(whole))); err != nil {
			return i, err
		}
		p.behind = now.Sub(time.UnixMilli(p.receivedMs))
	}
	return len(records), nil
}

// fold adds a whole flush of tally, the first record of which lies at an offset.
func (p *Partition) fold(ctx context.Context, whole []delta.Delta, offset int64) error {
	flush := whole[0].Flush
	if flush.From < p.sourceTo {
		// Package delta lets only one of two writers through, so this is a log that was tampered with or made anew.
		p.skip(skippedRepeat)
		p.f.Logger.Error("a flush repeats events that are folded already: left out", "partition", p.partition, "offset", offset,
			"from", flush.From, "to", flush.To, "folded", p.sourceTo)
		p.foldedTo = offset + int64(len(whole))
		return nil
	}
	before := position{offset, p.sourceTo, p.receivedMs}
	for i := range whole {
		if whole[i].SiteID == 0 {
			continue
		}
		at := offset + int64(i)
		s, err := p.site(ctx, whole[i].SiteID, at)
		if err == nil && s != nil && !p.waits(s, &whole[i], at, before) {
			err = p.foldDelta(ctx, s, &whole[i], at)
		}
		if err != nil {
			return err
		}
	}
	p.foldedTo, p.sourceTo = offset+int64(len(whole)), flush.To
	p.receivedMs = max(p.receivedMs, flush.ReceivedMs)
	return nil
}

// foldWaiting folds a portion of what waits.
func (p *Partition) foldWaiting(ctx context.Context) error {
	most := p.windows.bytes + portionBytes
	for n := 0; n < portion && p.windows.bytes < most && !p.backlog.empty(); n++ {
		for _, w := range p.backlog.next().deltas {
			if err := delta.Parse(w.value, &p.waiting); err != nil {
				return fmt.Errorf("BUG: a delta that was put aside: %w", err)
			}
			s, err := p.site(ctx, p.waiting.SiteID, w.offset)
			if err == nil && s != nil {
				err = p.foldDelta(ctx, s, &p.waiting, w.offset)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Partition) foldDelta(ctx context.Context, s *site, d *delta.Delta, offset int64) error {
	w := p.windows.at(s, d.Minute*60)
	if w.late {
		p.f.Metrics.late.WithLabelValues(p.f.Unit.String()).Inc()
	}
	if w.published == unknown && (len(d.Cells) == 0 || d.Cells[0].Report != report.Total || d.Cells[0].Link != "") {
		w.published = something // not as tally writes: who knows
	}
	for i := range d.Cells {
		from := &d.Cells[i]
		c, err := p.cell(ctx, w, cellID{from.Report, from.Link})
		if err != nil {
			return err
		}
		before := c.bytes
		changed := c.add(from.Rows, d.Visitors, offset)
		p.windows.grow(w, c.bytes-before)
		if changed && !c.dirty {
			c.dirty = true
			w.dirty++
			p.dirty = append(p.dirty, c)
		}
	}
	return nil
}

// cell returns a cell of a window, from the table if it is not at hand. The total of a site comes first in every delta, and so in what is
// published of a window: where the table lacks it, it has no cell of the window.
func (p *Partition) cell(ctx context.Context, w *window, id cellID) (*cell, error) {
	name, number := p.reports.find(id.report)
	if c := w.cell(id, number); c != nil {
		return c, nil
	}
	if w.published == unknown {
		if err := p.f.Table.Settle(ctx, p.f.Unit, p.partition, p.outEnd); err != nil {
			return nil, err
		}
		has, err := p.f.Table.Has(p.f.Unit, p.bucketID(w, cellID{report: report.Total}))
		if err != nil {
			return nil, fmt.Errorf("look up a window: %w", err)
		}
		if w.published = nothing; has {
			w.published = something
		}
	}
	id = cellID{report: name, link: strings.Clone(id.link)}
	c := newCell(w, id)
	if w.published == something {
		published, err := p.f.Table.Cell(p.f.Unit, p.bucketID(w, id))
		if err == nil {
			p.loaded.Inc()
			err = c.load(published)
		}
		if err != nil {
			return nil, fmt.Errorf("look up a cell: %w", err)
		}
	}
	w.keep(c, number)
	p.windows.grow(w, c.bytes)
	return c, nil
}

func (p *Partition) bucketID(w *window, id cellID) bucket.ID {
	return bucket.ID{SiteID: w.site.id, Generation: w.site.generation, Window: p.f.Unit.String(), Start: w.Start, Offset: w.Offset,
		Partition: p.partition, Report: id.report, Link: id.link}
}

func (p *Partition) skip(reason string) {
	p.f.Metrics.skipped.WithLabelValues(p.f.Unit.String(), reason).Inc()
}

// Due implements feed.Worker.
func (p *Partition) Due() time.Time {
	if p.foldedTo == p.publishedTo && p.backlog.empty() {
		if p.f.Sites.State() != p.state && p.f.Table.Settled(p.f.Unit, p.partition, p.outEnd) || p.jobDue() {
			return p.flushedAt.Add(1) // at once
		}
		return time.Time{}
	}
	rest := max(p.took, historyEvery)
	if p.flushedAt.Sub(p.lastAt) < quietWait {
		rest *= costFactor // what happens now, here and in tally, needs the cores first
	}
	history := p.flushedAt.Add(rest)
	if p.foldedTo == p.publishedTo {
		return history
	}
	pc := paces[p.f.Unit]
	cost := min(max(pc.interval, costFactor*p.took), maxInterval)
	size := time.Duration(p.flushBytes) * time.Second / time.Duration(pc.rate)
	size = max(min(size, pc.longest), min(rateBehind*size, p.behind, pc.behind))
	steady := p.flushedAt.Add(max(cost, size))
	quiet := later(p.lastAt.Add(max(quietWait, min(p.behind, quietBehind))), p.flushedAt.Add(cost))
	due := later(p.firstAt.Add(pc.first), earlier(steady, quiet))
	if !p.backlog.empty() {
		return earlier(due, history)
	}
	return due
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Flush implements feed.Worker: the shards that changed, among them those of a portion of what waits, or the next part of a job; and after
// them how far this partition is.
func (p *Partition) Flush(ctx context.Context, now time.Time) ([]*kgo.Record, error) {
	p.began, p.inJob = now, false
	p.out.reset()
	if p.foldedTo != p.publishedTo || !p.backlog.empty() {
		if err := p.foldWaiting(ctx); err != nil {
			return nil, err
		}
		p.changed()
		p.progress()
		return p.out.records, nil
	}
	if err := p.startJobs(); err != nil || !p.jobDue() {
		return nil, err
	}
	if err := p.work(); err != nil || !p.jobs[0].begun {
		return nil, err
	}
	p.inJob = true
	p.progress()
	return p.out.records, nil
}

// changed puts out each shard that changed.
func (p *Partition) changed() {
	var out bucket.Cell
	for _, c := range p.dirty {
		out.ID, out.Site, out.SourceTo = p.bucketID(c.window, c.id), c.window.site.name, p.sourceTo
		before := c.bytes
		p.sketches = c.publish(&out, p.sketches, p.foldedTo, func() { p.out.cell(&out) })
		p.windows.grow(c.window, c.bytes-before)
	}
	p.f.Metrics.cells.WithLabelValues(p.f.Unit.String()).Add(float64(len(p.out.records)))
}

// progress puts out how far this partition is, the last record of a flush.
func (p *Partition) progress() {
	at := p.lacksNothing()
	progress := bucket.Progress{Window: p.f.Unit.String(), Partition: p.partition, FoldedTo: at.foldedTo, SourceTo: at.sourceTo, ReceivedMs: at.receivedMs}
	p.out.record(progress.AppendKey(nil), progress.AppendJSON(nil))
}

// Flushed implements feed.Worker.
func (p *Partition) Flushed(records []*kgo.Record, now time.Time) error {
	p.outEnd = records[len(records)-1].Offset + 1
	p.flushedAt, p.took, p.flushBytes = now, now.Sub(p.began), p.out.bytes
	if err := p.f.Table.Feed(p.f.Unit, p.partition, records, p.out.cells); err != nil {
		return err
	}
	if p.inJob {
		p.jobFlushed()
		return nil
	}
	published := make([]*window, 0, len(p.dirty))
	for _, c := range p.dirty {
		c.dirty = false
		if c.window.dirty--; c.window.dirty == 0 {
			published = append(published, c.window)
		}
	}
	clear(p.dirty)
	p.dirty = p.dirty[:0]
	p.publishedTo = p.foldedTo
	p.windows.shrink(published)
	p.memory.Set(float64(p.windows.bytes))
	return nil
}

// Position implements feed.Worker.
func (p *Partition) Position() int64 { return min(p.publishedTo, p.lacksNothing().foldedTo) }

// Close implements feed.Closer.
func (p *Partition) Close() {
	p.f.Table.Unfeed(p.f.Unit, p.partition)
	if len(p.jobs) > 0 && p.jobs[0].begun {
		p.jobs[0].view.Close()
	}
}
