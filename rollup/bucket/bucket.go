package bucket

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxRows is the most rows that a shard of a cell holds: with sketches of 4 KiB in each, a record stays below 1 MB.
const MaxRows = 128

// Other is the key of the row that takes what came after a cell was full.
const Other = "(other)"

// Cell is one shard of a cell.
type Cell struct {
	ID
	Site     string // name of the site, for people; the number identifies it
	FoldedTo int64  // every delta of the partition before this offset is in the cell
	SourceTo int64  // every event of the partition before this offset is
	Rows     []Row
}

// ID says which cell it is. It is what the key of the record is made of.
type ID struct {
	SiteID     uint32
	Generation uint32 // of the site's cells; cells of older generations do not count
	Window     string // minute, hour or day
	Start      int64  // of the window, seconds since 1970
	Offset     int    // seconds east of UTC at the start of the window
	Partition  int32  // of events, that was counted
	Report     string
	Link       string // short link; empty: the whole site
	Shard      int    // 0 for the first MaxRows rows, and so on
}

// Row is one row of a report.
type Row struct {
	Key string
	Counts
	Visitors int64  // distinct visitors, as far as the sketch tells
	Sketch   []byte // binary form of rollup/sketch
}

// Counts are the measures that are sums. See docs/definitions.md.
type Counts struct {
	Hits      int64 // all
	Bots      int64 // of the hits
	Pageviews int64 // human
	Events    int64 // human
	Clicks    int64 // human

	// What visits and engagements add.
	Visits      int64 // that began here
	Bounces     int64 // of the visits
	DurationMs  int64 // of the visits together
	EngagedMs   int64
	ScrollSum   int64 // percent, the deepest of each page view that told one
	ScrollViews int64 // page views that told one
}

// Humans returns the hits that are not bots.
func (c Counts) Humans() int64 { return c.Hits - c.Bots }

// Add adds to each measure.
func (c *Counts) Add(d Counts) {
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

// ofVisits says whether visits or engagements add anything. Most rows of large reports are of hits alone.
func (c *Counts) ofVisits() bool {
	return c.Visits|c.Bounces|c.DurationMs|c.EngagedMs|c.ScrollSum|c.ScrollViews != 0
}

func (c *Counts) visitCounts() [6]int64 {
	return [...]int64{c.Visits, c.Bounces, c.DurationMs, c.EngagedMs, c.ScrollSum, c.ScrollViews}
}

// Progress is what a fold has taken in of one partition.
type Progress struct {
	Window     string
	Partition  int32
	FoldedTo   int64 // every delta before this offset is in the published cells
	SourceTo   int64 // every event before this offset is
	ReceivedMs int64 // the latest time of receipt among those events, Unix milliseconds
}

// Generation says that the cells of a site in a partition are whole in a generation: they hold every delta before FoldedTo. It is written
// when a site's hours and days were made anew, after all of them. The first generation has no such record.
type Generation struct {
	Window     string
	SiteID     uint32
	Generation uint32
	Partition  int32
	FoldedTo   int64
}

// startLayout writes the start of a window with its offset from UTC, which tells apart the two hours that a clock shows twice.
const startLayout = "2006-01-02T15:04:05Z07:00"

// AppendKey appends the key of the record: g1|7|2025-10-26T02:00:00+02:00|p3|country|, with the short link after the last bar and the
// shard, from 1, after the report: page.1.
func (id *ID) AppendKey(dst []byte) []byte {
	dst = append(dst, 'g')
	dst = strconv.AppendUint(dst, uint64(id.Generation), 10)
	dst = append(dst, '|')
	dst = strconv.AppendUint(dst, uint64(id.SiteID), 10)
	dst = append(dst, '|')
	dst = id.appendStart(dst)
	dst = append(dst, "|p"...)
	dst = strconv.AppendInt(dst, int64(id.Partition), 10)
	dst = append(dst, '|')
	dst = append(dst, id.Report...)
	if id.Shard > 0 {
		dst = append(dst, '.')
		dst = strconv.AppendInt(dst, int64(id.Shard), 10)
	}
	dst = append(dst, '|')
	return append(dst, id.Link...)
}

func (id *ID) appendStart(dst []byte) []byte {
	dst = time.Unix(id.Start+int64(id.Offset), 0).UTC().AppendFormat(dst, startLayout)
	if id.Offset == 0 {
		return dst
	}
	// A time.Location for each offset would cost more than all the rest of a small cell.
	sign, minutes := byte('+'), id.Offset/60
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	hours := minutes / 60
	minutes %= 60
	dst = append(dst[:len(dst)-1], sign, '0'+byte(hours/10), '0'+byte(hours%10), ':')
	return append(dst, '0'+byte(minutes/10), '0'+byte(minutes%10))
}

// ParseKey reads the key of a cell. Window is not in the key (the topic says it) and stays empty. Errors wrap ErrNotCell.
func ParseKey(key []byte) (ID, error) {
	parts := strings.SplitN(string(key), "|", 6)
	if len(parts) != 6 || !strings.HasPrefix(parts[0], "g") || !strings.HasPrefix(parts[3], "p") {
		return ID{}, fmt.Errorf("%w: key %.100q", ErrNotCell, key)
	}
	generation, err1 := strconv.ParseUint(parts[0][1:], 10, 32)
	site, err2 := strconv.ParseUint(parts[1], 10, 32)
	start, err3 := time.Parse(startLayout, parts[2])
	partition, err4 := strconv.ParseInt(parts[3][1:], 10, 32)
	report, shardText, sharded := strings.Cut(parts[4], ".")
	shard, err5 := uint64(0), error(nil)
	if sharded {
		shard, err5 = strconv.ParseUint(shardText, 10, 8)
	}
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return ID{}, fmt.Errorf("%w: key %.100q: %w", ErrNotCell, key, err)
		}
	}
	_, offset := start.Zone()
	id := ID{SiteID: uint32(site), Generation: uint32(generation), Start: start.Unix(), Offset: offset, Partition: int32(partition),
		Report: report, Link: parts[5], Shard: int(shard)}
	if string(id.AppendKey(nil)) != string(key) {
		return ID{}, fmt.Errorf("%w: key %.100q is not as it is written", ErrNotCell, key)
	}
	return id, nil
}

const progressKey = "progress|p"

// AppendKey appends the key of the record: progress|p3.
func (p *Progress) AppendKey(dst []byte) []byte {
	return strconv.AppendInt(append(dst, progressKey...), int64(p.Partition), 10)
}

const generationKey = "generation|"

// AppendKey appends the key of the record: generation|7|p3.
func (g *Generation) AppendKey(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, generationKey...), uint64(g.SiteID), 10)
	return strconv.AppendInt(append(dst, "|p"...), int64(g.Partition), 10)
}

// IsGenerationKey says whether a key is that of a record about a generation.
func IsGenerationKey(key []byte) bool { return strings.HasPrefix(string(key), generationKey) }

// IsProgressKey says whether a key is that of a progress record.
func IsProgressKey(key []byte) bool { return strings.HasPrefix(string(key), progressKey) }
