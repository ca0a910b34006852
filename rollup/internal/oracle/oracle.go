// Package oracle counts hits the slow and plain way, for tests to compare with: it keeps every hit and goes through all of them for every
// question. It shares no code with the counting room but the zones, which have their own tests.
package oracle

import (
	"fmt"
	"sort"
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Oracle holds hits in the order they were logged, by partition.
type Oracle struct {
	hits  map[uint32][]hit.Hit // by site
	told  map[uint32][]told    // what visits and engagements add, by site
	parts map[int32]*part      // what is known of visitors
	n     int
	seen  map[string]bool
	high  map[string]uint64
	// Zones of the sites.
	Zones map[uint32]string

	starts map[startKey]int64 // starts of windows that were looked up
}

type startKey struct {
	zone   string
	unit   zone.Unit
	minute int64
}

func (o *Oracle) start(z *zone.Zone, unit zone.Unit, minute int64) int64 {
	key := startKey{z.Name(), unit, minute}
	start, ok := o.starts[key]
	if !ok {
		start = z.Window(unit, minute).Start
		o.starts[key] = start
	}
	return start
}

// New returns an empty oracle.
func New(zones map[uint32]string) *Oracle {
	return &Oracle{hits: map[uint32][]hit.Hit{}, told: map[uint32][]told{}, parts: map[int32]*part{}, starts: map[startKey]int64{}, seen: map[string]bool{}, high: map[string]uint64{}, Zones: zones}
}

// Add logs a hit in a partition. It returns whether the hit counts.
func (o *Oracle) Add(partition int32, h hit.Hit) bool {
	switch {
	case h.ClientID != "":
		key := fmt.Sprint(partition, "/", h.SiteID, "/", h.ClientID)
		if o.seen[key] {
			return false
		}
		o.seen[key] = true
	case h.ID.Source != "":
		key := fmt.Sprint(partition, "/", h.ID.Source)
		if h.ID.Seq <= o.high[key] {
			return false
		}
		o.high[key] = h.ID.Seq
	}
	o.receive(partition, h.ReceivedMs)
	if _, ok := o.Zones[h.SiteID]; !ok || h.TimeMs > h.ReceivedMs+300_000 || h.TimeMs < 631152000000 {
		return false
	}
	o.visit(partition, h)
	if h.Kind == hit.Engagement {
		return false
	}
	o.hits[h.SiteID] = append(o.hits[h.SiteID], h)
	o.n++
	return true
}

// Len returns how many hits count.
func (o *Oracle) Len() int { return o.n }

// Counts is what is counted of a row.
type Counts struct {
	Hits, Humans, Bots, Visitors, Pageviews, Events, Clicks        int64
	Visits, Bounces, DurationMs, EngagedMs, ScrollSum, ScrollViews int64
}

// Cell names a row of an answer: start of the window (seconds since 1970, 0 for the whole range) and key.
type Cell struct {
	Start int64
	Key   string
}

// Question is what can be asked.
type Question struct {
	Site     uint32
	Link     string
	By       string
	Every    zone.Unit // 0: the whole range
	From, To int64     // seconds since 1970; equal: everything
}

// Count goes through all hits.
func (o *Oracle) Count(q Question) map[Cell]Counts {
	z, err := zone.Load(o.Zones[q.Site])
	if err != nil {
		panic(err)
	}
	rows := map[Cell]Counts{}
	type person struct {
		day int64
		id  uint64
	}
	people := map[Cell]map[person]bool{}
	hits := o.hits[q.Site]
	for i := range hits {
		h := &hits[i]
		at := floorDiv(h.TimeMs, 60_000) * 60
		if q.Link != "" && h.Link != q.Link || q.From != q.To && (at < q.From || at >= q.To) {
			continue
		}
		key, ok := keyOf(q.By, h)
		if !ok {
			continue
		}
		cell := Cell{Key: key}
		if q.Every != 0 {
			cell.Start = o.start(z, q.Every, at)
		}
		c := rows[cell]
		c.Hits++
		if h.Bot {
			c.Bots++
		} else {
			c.Humans++
			known := true
			switch h.Kind {
			case hit.Pageview:
				c.Pageviews++
			case hit.Event:
				c.Events++
			case hit.Click:
				c.Clicks++
			default:
				known = false
			}
			if known && h.Visitor != 0 {
				if people[cell] == nil {
					people[cell] = map[person]bool{}
				}
				people[cell][person{o.start(z, zone.Day, at), h.Visitor}] = true
			}
		}
		rows[cell] = c
	}
	o.addTold(q, z, rows)
	for cell, c := range rows {
		c.Visitors = int64(len(people[cell]))
		rows[cell] = c
	}
	return rows
}

func keyOf(by string, h *hit.Hit) (string, bool) {
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	switch by {
	case "":
		return "", true
	case "country":
		return or(h.Country, "??"), true
	case "browser":
		return or(h.Browser, "(unknown)"), true
	case "os":
		return or(h.OS, "(unknown)"), true
	case "device":
		return or(h.Device, "(unknown)"), true
	case "page":
		return or(h.Path, "/"), h.Kind == hit.Pageview
	case "referrer":
		key := or(h.RefHost, "(direct)")
		if h.RefHost != "" && (h.RefHost == h.Host || h.RefHost == h.Site) {
			key = "(internal)"
		}
		return key, !h.Bot
	case "link":
		return h.Link, h.Link != ""
	case "entry", "exit":
		return "", false
	case "hostname":
		return h.Host, h.Kind == hit.Pageview && h.Host != ""
	case "title":
		return h.Title, h.Kind == hit.Pageview && !h.Bot && h.Title != ""
	case "event":
		return h.Name, h.Kind == hit.Event && !h.Bot && h.Name != ""
	case "bot":
		return h.BotKind, h.Bot
	}
	if h.Bot {
		return "", false
	}
	switch by {
	case "region":
		return h.RegionCode, h.RegionCode != ""
	case "city":
		return h.City + ", " + h.RegionCode, h.City != ""
	case "browser_version":
		return h.Browser + " " + strings.Split(h.BrowserVersion, ".")[0], h.Browser != "" && h.BrowserVersion != ""
	case "os_version":
		numbers := strings.Split(h.OSVersion, ".")
		return h.OS + " " + strings.Join(numbers[:min(2, len(numbers))], "."), h.OSVersion != ""
	case "language":
		return h.Language, h.Language != ""
	case "screen":
		return map[int]string{0: "", 390: "under 576", 768: "576 to 991", 1280: "992 to 1439", 1920: "1440 and more"}[h.ScreenWidth], h.ScreenWidth != 0
	case "utm_source":
		return h.Campaign.Source, h.Campaign.Source != ""
	case "utm_medium":
		return h.Campaign.Medium, h.Campaign.Medium != ""
	case "utm_campaign":
		return h.Campaign.Name, h.Campaign.Name != ""
	case "utm_term":
		return h.Campaign.Term, h.Campaign.Term != ""
	case "utm_content":
		return h.Campaign.Content, h.Campaign.Content != ""
	case "source", "channel":
		return sourceOf(by, h)
	default:
		panic("no report " + by)
	}
}

// sourceOf knows the sources of the traffic that is made up here.
func sourceOf(by string, h *hit.Hit) (string, bool) {
	if h.Kind == hit.Request {
		return "", false
	}
	name, channel := "(direct)", "Direct"
	switch {
	case h.Campaign.Source != "":
		name, channel = h.Campaign.Source, "Email"
	case h.RefHost == "t.co":
		name, channel = "Twitter", "Organic Social"
	case h.RefHost == "news.example":
		name, channel = "news.example", "Referral"
	case h.RefHost != "":
		return "", false
	}
	if by == "source" {
		return name, true
	}
	return channel, true
}

// Bounds returns the first and the last minute with a hit or an engagement of a site.
func (o *Oracle) Bounds(site uint32) (first, last int64, ok bool) {
	var minutes []int64
	for i := range o.hits[site] {
		minutes = append(minutes, floorDiv(o.hits[site][i].TimeMs, 60_000)*60)
	}
	for i := range o.told[site] {
		minutes = append(minutes, o.told[site][i].minute*60)
	}
	if len(minutes) == 0 {
		return 0, 0, false
	}
	sort.Slice(minutes, func(i, j int) bool { return minutes[i] < minutes[j] })
	return minutes[0], minutes[len(minutes)-1], true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
