package delta

import (
	_ "embed"
	"strconv"
	"time"
)

// Version is what this package writes into field 1.
const Version = 1

//go:embed delta.proto
var schema string

// Schema returns the protobuf definition of the record.
func Schema() string { return schema }

// Delta is one record. All increments in it belong to one minute of one site.
type Delta struct {
	Flush
	Index int // number of this record in the flush, from 0

	SiteID   uint32 // 0: nothing is added, the record only tells the range
	Minute   int64  // minutes since 1970, UTC
	Visitors []uint64
	Cells    []Cell

	rows    []Row    // memory that Parse cuts Cells[i].Rows from
	indexes []uint32 // memory that Parse cuts Row.Visitors from
}

// Flush is what all records of a flush have in common.
type Flush struct {
	Partition  int32
	From, To   int64 // range of offsets of events: From is in it, To is not
	At         int64 // offset in rollup.deltas at which the flush begins if it counts; -1 when a transaction vouches for it
	Count      int   // records of the flush
	ReceivedMs int64 // the latest time of receipt among all events before To, Unix milliseconds
}

// Cell is what is added to one report of the site, or of one of its short links.
type Cell struct {
	Report string
	Link   string // empty: the whole site
	Rows   []Row
}

// Row is what is added to one row of a report.
type Row struct {
	Key string
	Counts
	Visitors []uint32 // indexes into Delta.Visitors, each at most once
}

// Counts are the measures that are sums. See docs/definitions.md.
type Counts struct {
	Hits      int64 // all
	Bots      int64 // of the hits
	Pageviews int64 // human
	Events    int64 // human
	Clicks    int64 // human

	// What visits and engagements add. In a delta they may be negative: what was told of a visit before is corrected.
	Visits      int64 // that began here
	Bounces     int64 // of the visits
	DurationMs  int64 // of the visits together
	EngagedMs   int64
	ScrollSum   int64 // percent, the deepest of each page view that told one
	ScrollViews int64 // page views that told one
}

// Add adds to each measure.
func (c *Counts) Add(d *Counts) {
	c.Hits += d.Hits
	c.Bots += d.Bots
	c.Pageviews += d.Pageviews
	c.Events += d.Events
	c.Clicks += d.Clicks
	c.Visits += d.Visits
	c.Bounces += d.Bounces
	c.DurationMs += d.DurationMs
	c.EngagedMs += d.EngagedMs
	c.ScrollSum += d.ScrollSum
	c.ScrollViews += d.ScrollViews
}

// Key returns the key of the record: site and minute, or "range" for a record that only tells the range.
func (d *Delta) Key() []byte {
	if d.SiteID == 0 {
		return []byte("range")
	}
	key := strconv.AppendUint(nil, uint64(d.SiteID), 10)
	key = append(key, '|')
	return time.Unix(d.Minute*60, 0).UTC().AppendFormat(key, "2006-01-02T15:04Z")
}
