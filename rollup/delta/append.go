package delta

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of delta.proto.
const (
	fVersion    protowire.Number = 1
	fPartition  protowire.Number = 2
	fFrom       protowire.Number = 3
	fTo         protowire.Number = 4
	fAt         protowire.Number = 5
	fIndex      protowire.Number = 6
	fCount      protowire.Number = 7
	fReceivedMs protowire.Number = 8
	fSiteID     protowire.Number = 9
	fMinute     protowire.Number = 10
	fVisitors   protowire.Number = 11
	fCells      protowire.Number = 12

	fReport protowire.Number = 1
	fLink   protowire.Number = 2
	fRows   protowire.Number = 3

	fKey         protowire.Number = 1
	fHits        protowire.Number = 2
	fBots        protowire.Number = 3
	fPageviews   protowire.Number = 4
	fEvents      protowire.Number = 5
	fClicks      protowire.Number = 6
	fRowVisitors protowire.Number = 7
	fVisits      protowire.Number = 8
	fBounces     protowire.Number = 9
	fDurationMs  protowire.Number = 10
	fEngagedMs   protowire.Number = 11
	fScrollSum   protowire.Number = 12
	fScrollViews protowire.Number = 13
)

// Append appends the encoded delta. Equal deltas give equal bytes. Text has to be valid UTF-8.
func Append(dst []byte, d *Delta) []byte {
	dst = appendUint(dst, fVersion, Version)
	dst = appendUint(dst, fPartition, uint64(d.Partition))
	dst = appendUint(dst, fFrom, uint64(d.From))
	dst = appendUint(dst, fTo, uint64(d.To))
	dst = appendUint(dst, fAt, protowire.EncodeZigZag(d.At))
	dst = appendUint(dst, fIndex, uint64(d.Index))
	dst = appendUint(dst, fCount, uint64(d.Count))
	dst = appendUint(dst, fReceivedMs, protowire.EncodeZigZag(d.ReceivedMs))
	dst = appendUint(dst, fSiteID, uint64(d.SiteID))
	dst = appendUint(dst, fMinute, protowire.EncodeZigZag(d.Minute))
	if len(d.Visitors) > 0 {
		dst = slices.Grow(dst, 16+8*len(d.Visitors))
		dst = appendLen(dst, fVisitors, 8*len(d.Visitors))
		for _, id := range d.Visitors {
			dst = protowire.AppendFixed64(dst, id)
		}
	}
	for i := range d.Cells {
		dst = appendCell(dst, &d.Cells[i])
	}
	return dst
}

func appendCell(dst []byte, c *Cell) []byte {
	size := sizeString(c.Report) + sizeString(c.Link)
	for i := range c.Rows {
		size += sizeLen(c.Rows[i].size())
	}
	dst = appendLen(dst, fCells, size)
	dst = appendString(dst, fReport, c.Report)
	dst = appendString(dst, fLink, c.Link)
	for i := range c.Rows {
		dst = appendRow(dst, &c.Rows[i])
	}
	return dst
}

func appendRow(dst []byte, r *Row) []byte {
	dst = appendLen(dst, fRows, r.size())
	dst = appendString(dst, fKey, r.Key)
	dst = appendUint(dst, fHits, uint64(r.Hits))
	dst = appendUint(dst, fBots, uint64(r.Bots))
	dst = appendUint(dst, fPageviews, uint64(r.Pageviews))
	dst = appendUint(dst, fEvents, uint64(r.Events))
	dst = appendUint(dst, fClicks, uint64(r.Clicks))
	if len(r.Visitors) > 0 {
		dst = appendLen(dst, fRowVisitors, r.visitorBytes())
		for _, i := range r.Visitors {
			dst = protowire.AppendVarint(dst, uint64(i))
		}
	}
	if !r.ofVisits() {
		return dst
	}
	dst = appendSigned(dst, fVisits, r.Visits)
	dst = appendSigned(dst, fBounces, r.Bounces)
	dst = appendSigned(dst, fDurationMs, r.DurationMs)
	dst = appendSigned(dst, fEngagedMs, r.EngagedMs)
	dst = appendSigned(dst, fScrollSum, r.ScrollSum)
	return appendSigned(dst, fScrollViews, r.ScrollViews)
}

// ofVisits says whether visits or engagements add anything to a row. Most rows are of hits alone.
func (c *Counts) ofVisits() bool {
	return c.Visits|c.Bounces|c.DurationMs|c.EngagedMs|c.ScrollSum|c.ScrollViews != 0
}

func (r *Row) size() int {
	n := sizeString(r.Key) + sizeUint(r.Hits) + sizeUint(r.Bots) + sizeUint(r.Pageviews) + sizeUint(r.Events) + sizeUint(r.Clicks)
	if len(r.Visitors) > 0 {
		n += sizeLen(r.visitorBytes())
	}
	if r.ofVisits() {
		for _, v := range [...]int64{r.Visits, r.Bounces, r.DurationMs, r.EngagedMs, r.ScrollSum, r.ScrollViews} {
			n += sizeUint(int64(protowire.EncodeZigZag(v)))
		}
	}
	return n
}

func (r *Row) visitorBytes() int {
	n := 0
	for _, i := range r.Visitors {
		n += protowire.SizeVarint(uint64(i))
	}
	return n
}

// All field numbers are below 16, so a tag is one byte.

func sizeUint(v int64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(uint64(v))
}

func sizeString(s string) int {
	if s == "" {
		return 0
	}
	return sizeLen(len(s))
}

func sizeLen(n int) int { return 1 + protowire.SizeBytes(n) }

func appendUint(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

func appendSigned(dst []byte, num protowire.Number, v int64) []byte {
	return appendUint(dst, num, protowire.EncodeZigZag(v))
}

func appendLen(dst []byte, num protowire.Number, n int) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(n))
}

func appendString(dst []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return append(appendLen(dst, num, len(s)), s...)
}

// MaxRowBytes returns the most that a row can add to a record, beside what its visitors add (see VisitorBytes) and what visits and
// engagements add (see VisitCountsBytes).
func MaxRowBytes(key string) int { return 5*(1+10) + 3*(1+5) + len(key) }

// MaxCellBytes returns the most that an empty cell can add to a record.
func MaxCellBytes(report, link string) int { return 3*(1+5) + len(report) + len(link) }

// Bytes for the bound on a record: a visitor of the record, and a visitor named by a row.
const (
	VisitorBytes     = 8
	RowVisitorBytes  = 5
	VisitCountsBytes = 6 * (1 + 10) // what visits and engagements add to a row
	HeaderBytes      = 120
)
