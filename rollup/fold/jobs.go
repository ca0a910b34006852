package fold

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

// When the zone of a site changes, its hours and days begin a new generation, which is made from its minutes; the cells of older
// generations end in tombstones. The cells of a site that was deleted end in tombstones too. Each is a job, done in flushes of bounded
// size while the partition takes no deltas.
//
// A job for a generation reads the minutes as they are at one moment, folded up to M, which is not before what this fold has taken. So
// the new cells hold every delta before M, and for this site deltas before M are passed over. The last record of the job says so: a job
// that did not get there is done again from the beginning.

// jobBytes is the most that one flush of a job publishes, before compression.
const jobBytes = 2 << 20

// job is what is to be done to the cells of a site.
type job struct {
	site       state.Site
	generation uint32 // to make; 0: the site was deleted
	zone       *zone.Zone
	old        []uint32 // generations that end

	begun    bool
	view     table.View
	foldedTo int64 // of the minutes in view
	sourceTo int64
	cursor   table.Cursor
	building *cell // the cell that minutes are being added to
	made     bool  // all cells of the new generation are published
	done     bool
}

// findJobs looks at what the state of the cluster asks for. Sites that this node does not know yet are left alone.
func (p *Partition) findJobs() error {
	now := p.state
	view := p.f.Table.View()
	defer view.Close()
	have, err := view.Sites(p.f.Unit)
	if err != nil {
		return err
	}
	p.jobs, p.whole = p.jobs[:0], map[uint32]int64{}
	for id, generations := range have {
		if _, ok := now.Sites[id]; !ok && id < now.NextSiteID {
			p.jobs = append(p.jobs, &job{site: state.Site{ID: id}, old: generations})
		}
	}
	if p.f.Unit != zone.Minute {
		for _, site := range now.Sites {
			if err := p.findGeneration(site, have[site.ID]); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(p.jobs, func(a, b *job) int { return int(a.site.ID) - int(b.site.ID) })
	return nil
}

func (p *Partition) findGeneration(site state.Site, have []uint32) error {
	if site.Generation <= 1 {
		return nil
	}
	made, foldedTo, err := p.f.Table.Generation(p.f.Unit, p.partition, site.ID)
	if err != nil {
		return fmt.Errorf("look up a generation: %w", err)
	}
	if made == site.Generation {
		p.whole[site.ID] = foldedTo
		return nil
	}
	p.whole[site.ID] = notMade
	if s := p.windows.sites[site.ID]; s != nil {
		p.windows.forgetSite(s) // from here on its deltas are passed over, and what is in memory would lack them
	}
	p.jobs = append(p.jobs, &job{site: site, generation: site.Generation, zone: p.zoneOf(site), old: have})
	return nil
}

// notMade stands for the offset from which deltas of a site are folded while its generation is not made yet.
const notMade = 1<<63 - 1

// startJobs brings the partition up to date with the state of the cluster, when nothing in memory waits to be published.
func (p *Partition) startJobs() error {
	now := p.f.Sites.State()
	if now == p.state || len(p.dirty) > 0 || len(p.jobs) > 0 && p.jobs[0].begun || !p.f.Table.Settled(p.f.Unit, p.partition, p.outEnd) {
		return nil
	}
	same := p.state != nil && maps.EqualFunc(now.Sites, p.state.Sites, func(a, b state.Site) bool { return a.Generation == b.Generation })
	p.state = now
	for _, s := range p.windows.sites {
		known, ok := now.Sites[s.id]
		if !ok || p.generation(known) != s.generation {
			p.windows.forgetSite(s)
		} else {
			s.name = known.Name
		}
	}
	if same {
		return nil // most changes are about something else
	}
	return p.findJobs()
}

// jobDue says whether a job can go on now.
func (p *Partition) jobDue() bool {
	if len(p.jobs) == 0 || len(p.dirty) > 0 {
		return false
	}
	j := p.jobs[0]
	if j.begun || j.generation == 0 {
		return true
	}
	progress, _, err := p.f.Table.Progress(zone.Minute, p.partition)
	return err == nil && progress.FoldedTo >= p.foldedTo
}

// work does the next part of the first job.
func (p *Partition) work() error {
	j := p.jobs[0]
	if !j.begun {
		if err := p.begin(j); err != nil || !j.begun {
			return err
		}
	}
	room := func() bool { return p.out.bytes+16*len(p.out.records) < jobBytes }
	if j.generation != 0 && !j.made {
		if err := p.make(j, room); err != nil {
			return err
		}
	}
	if j.generation == 0 || j.made {
		if err := p.end(j, room); err != nil {
			return err
		}
	}
	if j.done && j.generation != 0 {
		g := bucket.Generation{Window: p.f.Unit.String(), SiteID: j.site.ID, Generation: j.generation, Partition: p.partition, FoldedTo: j.foldedTo}
		p.out.record(g.AppendKey(nil), g.AppendJSON(nil))
	}
	return nil
}

func (p *Partition) begin(j *job) error {
	if j.generation == 0 {
		j.view, j.begun = p.f.Table.View(), true
		return nil
	}
	view, minutes, ok := p.f.Table.Minutes(p.partition)
	switch {
	case !ok:
		return nil // in the middle of a flush: soon
	case minutes.FoldedTo < p.foldedTo:
		view.Close()
		return nil
	}
	j.view, j.foldedTo, j.sourceTo, j.begun = view, minutes.FoldedTo, minutes.SourceTo, true
	p.f.Logger.Info("making the counts of a site anew for its time zone", "window", p.f.Unit.String(), "partition", p.partition, "site", j.site.Name, "timezone", j.site.Timezone)
	return nil
}

// make publishes cells of the new generation, made from minutes.
func (p *Partition) make(j *job, room func() bool) error {
	finish := func() {
		if j.building != nil {
			p.publishMade(j, j.building)
			j.building = nil
		}
	}
	next, done, err := j.view.Cells(zone.Minute, j.site.ID, minuteGeneration, j.cursor, func(id bucket.ID, rows *bucket.Rows) (bool, error) {
		if id.Partition != p.partition {
			return true, nil
		}
		w := j.zone.Window(p.f.Unit, id.Start)
		if b := j.building; b == nil || b.window.Start != w.Start || b.id != (cellID{id.Report, id.Link}) {
			finish()
			j.building = newCell(&window{Window: w, site: &site{id: j.site.ID, name: j.site.Name, generation: j.generation}}, cellID{id.Report, id.Link})
			if !room() {
				// The cell that was begun takes this minute in first: the cursor stands behind it.
				return false, j.building.addRows(rows)
			}
		}
		return true, j.building.addRows(rows)
	})
	if err != nil {
		return fmt.Errorf("make the counts of site %d anew: %w", j.site.ID, err)
	}
	j.cursor = next
	if done {
		finish()
		j.made, j.cursor = true, nil
	}
	return nil
}

func (p *Partition) publishMade(j *job, c *cell) {
	var out bucket.Cell
	out.ID, out.Site, out.SourceTo = p.bucketID(c.window, c.id), j.site.Name, j.sourceTo
	p.sketches = c.publish(&out, p.sketches, j.foldedTo, func() { p.out.cell(&out) })
}

// end publishes tombstones for the cells of generations that end.
func (p *Partition) end(j *job, room func() bool) error {
	for len(j.old) > 0 && room() {
		generation := j.old[0]
		if generation == j.generation {
			j.old = j.old[1:]
			continue
		}
		next, done, err := j.view.Cells(p.f.Unit, j.site.ID, generation, j.cursor, func(id bucket.ID, rows *bucket.Rows) (bool, error) {
			if id.Partition != p.partition {
				return true, nil
			}
			id.Offset = rows.Offset // as it is in the key that ends
			p.out.record(id.AppendKey(nil), nil)
			return room(), nil
		})
		if err != nil {
			return fmt.Errorf("end the counts of site %d: %w", j.site.ID, err)
		}
		j.cursor = next
		if done {
			j.old, j.cursor = j.old[1:], nil
		}
	}
	j.done = len(j.old) == 0
	return nil
}

// jobFlushed is called when what work returned is committed.
func (p *Partition) jobFlushed() {
	j := p.jobs[0]
	if !j.done {
		return
	}
	j.view.Close()
	if j.generation != 0 {
		p.whole[j.site.ID] = j.foldedTo
	}
	p.jobs = p.jobs[1:]
}
