package visitor

import (
	"crypto/hmac"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// VisitOpen is how long after a hit its visit may go on: within that time before the end of a day a hit carries the next day's id too.
const VisitOpen = 30 * time.Minute

// Memory remembers the last day asked for of each site, so that finding its zone and salts is not work of every request. The zero Memory is
// empty; it is safe for concurrent use.
type Memory struct{ of atomic.Pointer[memory] }

// memory is bounded by the sites of its state.
type memory struct {
	state *state.State
	days  sync.Map // state.SiteID -> *day
}

// Days returns a Days over one snapshot of the cluster state that begins with what is remembered of that snapshot.
func (m *Memory) Days(s *state.State) Days {
	kept := m.of.Load()
	if kept == nil || kept.state != s {
		kept = &memory{state: s}
		m.of.Store(kept)
	}
	return Days{state: s, shared: kept}
}

// day is one calendar day of a site. It does not change once it is shared.
type day struct {
	site     state.SiteID
	timezone string
	zone     *time.Location

	from, until int64 // Unix milliseconds
	today, next Key
	haveNext    bool
}

func (d *day) has(site *state.Site, timeMs int64) bool {
	return site.ID == d.site && site.Timezone == d.timezone && timeMs >= d.from && timeMs < d.until
}

// Days finds the salts of a moment at a site. It remembers the last moment asked for, so it is meant to be kept for a run of hits and
// used by one goroutine; making one is cheap.
type Days struct {
	state  *state.State
	shared *memory // nil: nothing is shared
	day    *day    // asked for last; nil before
}

// NewDays returns a Days over one snapshot of the cluster state.
func NewDays(s *state.State) *Days { return &Days{state: s} }

// IDs returns the visitor's id at the given moment and, when the site's next day begins within VisitOpen, the id of that day, else 0.
// Both are 0 when nothing is known of the visitor.
func (d *Days) IDs(site *state.Site, timeMs int64, who Who) (visitor, visitorNext uint64) {
	if !who.Known() {
		return 0, 0
	}
	if d.day == nil || !d.day.has(site, timeMs) {
		d.enter(site, timeMs)
	}
	visitor = id(d.day.today, site.ID, who)
	if d.day.until-timeMs <= VisitOpen.Milliseconds() {
		if !d.day.haveNext {
			more := *d.day
			more.next, more.haveNext = d.saltOf(time.UnixMilli(more.until).In(more.zone)), true
			d.keep(&more)
		}
		visitorNext = id(d.day.next, site.ID, who)
	}
	return visitor, visitorNext
}

// enter finds the site's day around a moment.
func (d *Days) enter(site *state.Site, timeMs int64) {
	if d.shared != nil {
		if kept, ok := d.shared.days.Load(site.ID); ok && kept.(*day).has(site, timeMs) {
			d.day = kept.(*day)
			return
		}
	}
	zone := zoneOf(site.Timezone)
	moment := time.UnixMilli(timeMs).In(zone)
	year, month, number := moment.Date()
	d.keep(&day{site: site.ID, timezone: site.Timezone, zone: zone,
		from:  startOfDay(year, month, number, zone).UnixMilli(),
		until: startOfDay(year, month, number+1, zone).UnixMilli(),
		today: d.saltOf(moment)})
}

// keep remembers a day, for others too.
func (d *Days) keep(found *day) {
	d.day = found
	if d.shared != nil {
		d.shared.days.Store(found.site, found)
	}
}

// startOfDay returns the first moment of a calendar day, also where clocks jump over midnight.
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	noon := time.Date(year, month, day, 12, 0, 0, 0, zone)
	if t.Day() == noon.Day() {
		return t
	}
	// Midnight does not exist: time.Date went back into the day before. The day starts where the jump ends.
	for t.Day() != noon.Day() {
		t = t.Add(15 * time.Minute)
	}
	return t
}

func (d *Days) saltOf(moment time.Time) Key {
	day := state.Day(moment.Format(time.DateOnly))
	if salt, ok := d.state.Salt(day); ok {
		return salt.Key
	}
	return derivedSalt(d.state.ImportKey, day)
}

// derivedSalt is the salt of a day that the cluster has no salt for.
func derivedSalt(secret [32]byte, day state.Day) Key {
	mac := hmac.New(sha256.New, secret[:])
	mac.Write([]byte("visitors of " + string(day)))
	return Key(mac.Sum(nil)[:16])
}

var zones sync.Map // name -> *time.Location; as many as there are zones in use

// zoneOf returns the zone of a site, UTC when its name is not known here.
func zoneOf(name string) *time.Location {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, zone)
	return zone
}
