package fold

import (
	"context"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/zone"
)

// site returns what is held of a site. It returns nil when a delta at an offset is not to be folded: the site was deleted, or the delta
// is in the cells that are made, or will be, from minutes. It waits a while for a site that this node does not know yet.
func (p *Partition) site(ctx context.Context, id uint32, offset int64) (*site, error) {
	if len(p.whole) > 0 && offset < p.whole[id] {
		return nil, nil
	}
	if s := p.windows.sites[id]; s != nil {
		return s, nil
	}
	known, ok, err := p.lookUp(ctx, id)
	if err != nil {
		return nil, err
	}
	if !ok {
		p.skip(skippedSite)
		return nil, nil
	}
	return p.windows.newSite(id, known.Name, p.generation(known), p.zoneOf(known)), nil
}

func (p *Partition) lookUp(ctx context.Context, id uint32) (state.Site, bool, error) {
	s := p.f.Sites.State()
	if known, ok := s.Sites[id]; ok || id < s.NextSiteID {
		return known, ok, nil
	}
	p.f.Logger.Warn("a delta names a site that is not known here yet: waiting", "site", id, "partition", p.partition, "at_most", siteWait)
	for deadline := time.Now().Add(siteWait); id >= s.NextSiteID && time.Now().Before(deadline); s = p.f.Sites.State() {
		select {
		case <-ctx.Done():
			return state.Site{}, false, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	known, ok := s.Sites[id]
	return known, ok, nil
}

func (p *Partition) generation(s state.Site) uint32 {
	if p.f.Unit == zone.Minute {
		return minuteGeneration
	}
	return s.Generation
}

func (p *Partition) zoneOf(s state.Site) *zone.Zone {
	if p.f.Unit == zone.Minute {
		return zone.UTC
	}
	z, err := zone.Load(s.Timezone)
	if err != nil {
		p.f.Logger.Error("the time zone of a site is not in this machine's database: counting its days in UTC", "site", s.Name, "err", err)
		return zone.UTC
	}
	return z
}
