package visitor

import (
	"crypto/hmac"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// VisitOpen is how long after a hit its visit may go on: within that time before the end of a day a hit carries the next day's id too.
const VisitOpen = 30 * time.Minute

// Days finds the salts of a moment at a site. It remembers the last moment asked for, so it is meant to be kept for a run of hits and
// used by one goroutine; making one is cheap.
type Days struct {
	state *state.State
	site  state.Site
	zone  *time.Location

	from, until int64 // of the day that is remembered, Unix milliseconds
	today, next Key
	haveNext    bool
}

// NewDays returns a Days over one snapshot of the cluster state.
func NewDays(s *state.State) *Days { return &Days{state: s} }

// IDs returns the visitor's id at the given moment and, when the site's next day begins within VisitOpen, the id of that day, else 0.
// Both are 0 when nothing is known of the visitor.
func (d *Days) IDs(site state.Site, timeMs int64, who Who) (visitor, visitorNext uint64) {
	if !who.Known() {
		return 0, 0
	}
	if d.moved(site) || timeMs < d.from || timeMs >= d.until {
		d.enter(site, timeMs)
	}
	visitor = id(d.today, site.ID, who)
	if d.until-timeMs <= VisitOpen.Milliseconds() {
		if !d.haveNext {
			d.next = d.saltOf(time.UnixMilli(d.until).In(d.zone))
			d.haveNext = true
		}
		visitorNext = id(d.next, site.ID, who)
	}
	return visitor, visitorNext
}

func (d *Days) moved(site state.Site) bool {
	return d.zone == nil || site.ID != d.site.ID || site.Timezone != d.site.Timezone
}

// enter remembers the site's day around a moment.
func (d *Days) enter(site state.Site, timeMs int64) {
	if d.moved(site) {
		d.site, d.zone = site, zoneOf(site.Timezone)
	}
	moment := time.UnixMilli(timeMs).In(d.zone)
	year, month, day := moment.Date()
	d.from = startOfDay(year, month, day, d.zone).UnixMilli()
	d.until = startOfDay(year, month, day+1, d.zone).UnixMilli()
	d.today = d.saltOf(moment)
	d.haveNext = false
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
