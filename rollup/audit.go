package rollup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/tally"
	"github.com/weir-analytics/weir/rollup/zone"
)

// AuditQuery asks for a recount of a site from the raw log.
type AuditQuery struct {
	Site     state.SiteID
	From, To time.Time // rounded outwards to minutes; zero: all there is
}

// Audit says how what is counted differs from what the raw log holds.
type Audit struct {
	From, To time.Time // what was compared: windows that begin in it
	Timezone string
	Events   int64           // events of all sites that were read
	Offsets  map[int32]int64 // of each partition of events, every event before was counted when it was compared
	// Rows that were compared: of every report and link, in minutes, hours and days, by partition.
	Rows        int64
	Totals      bucket.Counts // of the site in the range, as recounted
	Differences []Difference  // at most maxDifferences
	More        int64         // differences beyond those
	// Since is not zero where the log no longer holds its first events: what is older can't be recounted, and From is no earlier than this.
	Since time.Time
}

// Difference is one number that differs.
type Difference struct {
	Unit      zone.Unit
	Start     time.Time
	Partition int32
	Report    string
	Link      string
	Key       string
	Measure   string
	Counted   int64 // what the table says
	Recounted int64 // what the log says
}

// maxDifferences are shown, so that an answer stays readable.
const maxDifferences = 100

// auditMargin is how long after its first event a log can be recounted whose older events are gone: before, events that are gone could be
// the first of two with one id, or in the same visit.
const auditMargin = (tally.WindowHours + 1) * time.Hour

// Audit recounts a site from the raw log, by the rules of counting and without its state, and compares every row of every report. Hits may
// come in meanwhile: each partition is compared at the offset that the table had reached. progress, which may be nil, is called now and then
// with how many events were read, of how many. Errors: ErrNoSite, ErrBehind, and those of the log and the local disk.
func (r *Rollup) Audit(ctx context.Context, q AuditQuery, progress func(done, all int64)) (Audit, error) {
	p, err := r.plan(Query{Site: q.Site})
	if err != nil {
		return Audit{}, err
	}
	if behind, known, empty := r.table.Behind(); behind > 0 || !known && empty {
		return Audit{}, ErrBehind
	}
	client, err := r.log.Client()
	if err != nil {
		return Audit{}, err
	}
	bounds, err := feed.PartitionBounds(ctx, client, TopicEvents)
	client.Close()
	if err != nil {
		return Audit{}, err
	}
	a := &auditing{r: r, plan: p, progress: progress, from: minUnix, to: maxUnix, Audit: Audit{Timezone: p.zone.Name(), Offsets: map[int32]int64{}}}
	if !q.From.IsZero() {
		a.from = q.From.Unix() - floorMod(q.From.Unix(), 60)
	}
	if !q.To.IsZero() {
		a.to = q.To.Unix() + floorMod(-q.To.Unix(), 60)
	}
	if err := a.since(ctx, bounds); err != nil {
		return Audit{}, err
	}
	for _, b := range bounds {
		a.all += max(0, b.End-b.Start)
	}
	for partition := range r.partitions.Load() {
		if b := bounds[partition]; b.Err != nil {
			return Audit{}, b.Err
		}
		if err := a.audit(ctx, partition, bounds[partition].Start); err != nil {
			return Audit{}, err
		}
	}
	slices.SortStableFunc(a.Differences, func(x, y Difference) int {
		return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(x.Unit, y.Unit), cmp.Compare(x.Report, y.Report), cmp.Compare(x.Key, y.Key))
	})
	if a.from > minUnix {
		a.From = p.time(a.from)
	}
	if a.to < maxUnix {
		a.To = p.time(a.to)
	}
	return a.Audit, nil
}

const (
	minUnix = -1 << 40
	maxUnix = 1 << 40
)

// auditing is an audit under way.
type auditing struct {
	Audit
	r        *Rollup
	plan     *plan
	from, to int64 // seconds since 1970
	all      int64
	progress func(done, all int64)

	recounted map[auditCell]map[string]*auditRow
	counted   map[auditCell]map[string]*auditRow
}

type auditCell struct {
	unit         zone.Unit
	start        int64
	report, link string
}

type auditRow struct {
	counts   bucket.Counts
	visitors int64
	sketch   sketch.Sketch
}

// since moves the range behind what can't be recounted any more.
func (a *auditing) since(ctx context.Context, bounds map[int32]feed.Bounds) error {
	for partition, b := range bounds {
		if b.Err != nil || b.Start == 0 {
			continue
		}
		first := a.r.cfg.Now() // when the partition is empty
		_, err := a.r.log.Read(ctx, TopicEvents, []feed.Range{{Partition: partition, From: b.Start, To: min(b.Start+1, b.End)}}, func(rec *kgo.Record) error {
			first = rec.Timestamp
			return nil
		})
		if err != nil {
			return err
		}
		if since := first.Add(auditMargin); since.After(a.Since) {
			a.Since = since.Truncate(time.Minute).Add(time.Minute)
		}
	}
	if !a.Since.IsZero() {
		a.from = max(a.from, a.Since.Unix())
	}
	return nil
}

// units are the lengths of windows that are compared.
func (a *auditing) units() []zone.Unit {
	if a.plan.minutes {
		return []zone.Unit{zone.Minute}
	}
	return []zone.Unit{zone.Minute, zone.Hour, zone.Day}
}

// audit compares one partition.
func (a *auditing) audit(ctx context.Context, partition int32, first int64) error {
	a.recounted, a.counted = map[auditCell]map[string]*auditRow{}, map[auditCell]map[string]*auditRow{}
	ends := map[zone.Unit]int64{}
	for _, unit := range a.units() {
		end, err := a.readTable(ctx, unit, partition)
		if err != nil {
			return err
		}
		ends[unit] = end
		a.Offsets[partition] = max(a.Offsets[partition], end)
	}
	if err := a.recount(ctx, partition, first, ends); err != nil {
		return err
	}
	a.compare(partition)
	return nil
}

// readTable takes what is counted, and returns up to which event it is.
func (a *auditing) readTable(ctx context.Context, unit zone.Unit, partition int32) (end int64, err error) {
	for {
		changed := a.r.table.Changed()
		view, progress, ok := a.r.table.Partition(unit, partition)
		if !ok {
			select {
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			case <-changed:
			}
			continue
		}
		defer view.Close()
		return progress.SourceTo, a.readView(view, unit, partition)
	}
}

func (a *auditing) readView(view table.View, unit zone.Unit, partition int32) error {
	return view.Windows(unit, uint32(a.plan.site.ID), a.plan.generation(unit), partition, a.from, a.to, func(id bucket.ID, rows *bucket.Rows) error {
		cell := a.cell(a.counted, auditCell{unit, id.Start, id.Report, id.Link})
		for rows.Next() {
			cell[string(rows.Key)] = &auditRow{counts: rows.Row.Counts, visitors: rows.Row.Visitors}
		}
		return rows.Err()
	})
}

func (a *auditing) cell(of map[auditCell]map[string]*auditRow, id auditCell) map[string]*auditRow {
	cell := of[id]
	if cell == nil {
		cell = map[string]*auditRow{}
		of[id] = cell
	}
	return cell
}

// recount reads the events of a partition up to the last of the ends, and adds those before the end of each unit to its windows.
func (a *auditing) recount(ctx context.Context, partition int32, first int64, ends map[zone.Unit]int64) error {
	s := a.r.cfg.Sites.State()
	recount, err := tally.NewRecount(s.RouteKey, first, uint32(a.plan.site.ID), func(site uint32) bool {
		_, ok := s.Sites[site]
		return ok || site < s.NextSiteID // one that is deleted was counted while it was there
	})
	if err != nil {
		return err
	}
	stops := []int64{}
	for _, end := range ends {
		stops = append(stops, end)
	}
	slices.Sort(stops)
	for from := first; len(stops) > 0; stops = stops[1:] {
		to := stops[0]
		stuck, err := a.r.log.Read(ctx, TopicEvents, []feed.Range{{Partition: partition, From: from, To: to}}, func(rec *kgo.Record) error {
			if err := recount.Take(rec); err != nil {
				return err
			}
			if a.Events++; a.Events%10_000 == 0 && a.progress != nil {
				a.progress(a.Events, max(a.all, a.Events))
			}
			if recount.Full() {
				return recount.Deltas(func(d *delta.Delta) error { return a.add(d, from, ends) })
			}
			return nil
		})
		if err == nil {
			err = stuck[partition]
		}
		if err == nil {
			err = recount.Deltas(func(d *delta.Delta) error { return a.add(d, from, ends) })
		}
		if err != nil {
			return err
		}
		from = max(from, to)
	}
	return nil
}

// add adds a delta of events from an offset on to the windows whose end lies behind it.
func (a *auditing) add(d *delta.Delta, from int64, ends map[zone.Unit]int64) error {
	if d.SiteID == 0 {
		return nil
	}
	for unit, end := range ends {
		if from >= end {
			continue
		}
		start := d.Minute * 60
		if unit != zone.Minute {
			start = a.plan.zone.Window(unit, start).Start
		}
		if start < a.from || start >= a.to {
			continue
		}
		for i := range d.Cells {
			c := &d.Cells[i]
			cell := a.cell(a.recounted, auditCell{unit, start, c.Report, c.Link})
			for j := range c.Rows {
				from := &c.Rows[j]
				row := cell[from.Key]
				if row == nil {
					row = &auditRow{sketch: sketch.New(kindOf(c.Report))}
					cell[string([]byte(from.Key))] = row
				}
				row.counts.Add(bucket.Counts(from.Counts))
				for _, v := range from.Visitors {
					row.sketch.Insert(d.Visitors[v])
				}
				if unit == zone.Minute && c.Report == report.Total && c.Link == "" {
					a.Totals.Add(bucket.Counts(from.Counts))
				}
			}
		}
	}
	return nil
}

// kindOf returns how large the sketches of a report are.
func kindOf(name string) sketch.Kind {
	if name == report.Total {
		return sketch.Total
	}
	return sketch.Row
}

// compare finds what differs, and is done with the partition.
func (a *auditing) compare(partition int32) {
	for id, cell := range a.recounted {
		a.fold(a.counted[id], cell)
	}
	for id := range a.counted {
		a.cell(a.recounted, id)
	}
	for id, cell := range a.recounted {
		counted := a.counted[id]
		for key := range counted {
			if cell[key] == nil {
				cell[key] = &auditRow{sketch: sketch.New(kindOf(id.report))}
			}
		}
		for key, row := range cell {
			a.Rows++
			is := counted[key]
			if is == nil {
				is = &auditRow{}
			}
			a.measure(partition, id, key, is, row)
		}
	}
	a.recounted, a.counted = nil, nil
}

// fold puts the rows that a full cell has no room for into its row of the rest. A row that is in a cell never leaves it, so it has all that
// belongs to it.
func (a *auditing) fold(counted, recounted map[string]*auditRow) {
	if counted[bucket.Other] == nil {
		return
	}
	rest := recounted[bucket.Other]
	if rest == nil {
		rest = &auditRow{}
		recounted[bucket.Other] = rest
	}
	for key, row := range recounted {
		if key != bucket.Other && counted[key] == nil {
			rest.counts.Add(row.counts)
			rest.sketch.Merge(&row.sketch)
			delete(recounted, key)
		}
	}
}

// measure compares one row.
func (a *auditing) measure(partition int32, id auditCell, key string, is, should *auditRow) {
	x, y := &is.counts, &should.counts
	for _, m := range [...]struct {
		name               string
		counted, recounted int64
	}{
		{"hits", x.Hits, y.Hits}, {"bots", x.Bots, y.Bots}, {"pageviews", x.Pageviews, y.Pageviews}, {"events", x.Events, y.Events}, {"clicks", x.Clicks, y.Clicks},
		{"visits", x.Visits, y.Visits}, {"bounces", x.Bounces, y.Bounces}, {"duration_ms", x.DurationMs, y.DurationMs}, {"engaged_ms", x.EngagedMs, y.EngagedMs},
		{"scroll_sum", x.ScrollSum, y.ScrollSum}, {"scroll_views", x.ScrollViews, y.ScrollViews}, {"visitors", is.visitors, should.sketch.Count()},
	} {
		if m.counted == m.recounted {
			continue
		}
		if len(a.Differences) == maxDifferences {
			a.More++
			continue
		}
		start := time.Unix(id.start, 0).UTC()
		if id.unit != zone.Minute {
			start = time.Unix(id.start, 0).In(a.plan.zone.Location())
		}
		a.Differences = append(a.Differences, Difference{Unit: id.unit, Start: start, Partition: partition, Report: id.report, Link: id.link, Key: key,
			Measure: m.name, Counted: m.counted, Recounted: m.recounted})
	}
}

// String says what differs, for people and logs.
func (d Difference) String() string {
	return fmt.Sprintf("%s %s, partition %d, %s %q %q: %s %d, recounted %d", d.Unit, d.Start.Format(time.RFC3339), d.Partition, d.Report, d.Key, d.Link, d.Measure, d.Counted, d.Recounted)
}
