package bucket

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendJSON appends the value of the record of a cell, on one line:
//
//	{"site":"example.com","site_id":7,"generation":1,"window":"hour","start":"2025-10-26T02:00:00+02:00","partition":3,
//	 "report":"country","link":"spring","shard":1,"folded_to":40,"source_to":1200,
//	 "rows":{"DE":{"hits":5,"humans":4,"bots":1,"visitors":3,"pageviews":4,"events":0,"clicks":0,
//	  "visits":3,"bounces":1,"duration_ms":95000,"engaged_ms":61000,"scroll_sum":140,"scroll_views":2,"sketch":"base64"}}}
//
// link, shard, sketch and what visits and engagements add are left out when empty or zero. Text that is not UTF-8 is written with U+FFFD in place of the bad bytes.
func (c *Cell) AppendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"site":`...), c.Site)
	dst = strconv.AppendUint(append(dst, `,"site_id":`...), uint64(c.SiteID), 10)
	dst = strconv.AppendUint(append(dst, `,"generation":`...), uint64(c.Generation), 10)
	dst = appendString(append(dst, `,"window":`...), c.Window)
	dst = append(c.appendStart(append(dst, `,"start":"`...)), '"')
	dst = strconv.AppendInt(append(dst, `,"partition":`...), int64(c.Partition), 10)
	dst = appendString(append(dst, `,"report":`...), c.Report)
	if c.Link != "" {
		dst = appendString(append(dst, `,"link":`...), c.Link)
	}
	if c.Shard != 0 {
		dst = strconv.AppendInt(append(dst, `,"shard":`...), int64(c.Shard), 10)
	}
	dst = strconv.AppendInt(append(dst, `,"folded_to":`...), c.FoldedTo, 10)
	dst = strconv.AppendInt(append(dst, `,"source_to":`...), c.SourceTo, 10)
	dst = append(dst, `,"rows":{`...)
	for i := range c.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.Rows[i].appendJSON(dst)
	}
	return append(dst, "}}"...)
}

func (r *Row) appendJSON(dst []byte) []byte {
	dst = appendString(dst, r.Key)
	dst = strconv.AppendInt(append(dst, `:{"hits":`...), r.Hits, 10)
	dst = strconv.AppendInt(append(dst, `,"humans":`...), r.Humans(), 10)
	dst = strconv.AppendInt(append(dst, `,"bots":`...), r.Bots, 10)
	dst = strconv.AppendInt(append(dst, `,"visitors":`...), r.Visitors, 10)
	dst = strconv.AppendInt(append(dst, `,"pageviews":`...), r.Pageviews, 10)
	dst = strconv.AppendInt(append(dst, `,"events":`...), r.Events, 10)
	dst = strconv.AppendInt(append(dst, `,"clicks":`...), r.Clicks, 10)
	if r.ofVisits() {
		for i, n := range r.visitCounts() {
			if n != 0 {
				dst = strconv.AppendInt(append(dst, visitFields[i]...), n, 10)
			}
		}
	}
	if len(r.Sketch) > 0 {
		dst = base64.StdEncoding.AppendEncode(append(dst, `,"sketch":"`...), r.Sketch)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// visitFields are written before the numbers of visitCounts.
var visitFields = [...]string{`,"visits":`, `,"bounces":`, `,"duration_ms":`, `,"engaged_ms":`, `,"scroll_sum":`, `,"scroll_views":`}

// AppendJSON appends the value of a progress record.
func (p *Progress) AppendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"window":`...), p.Window)
	dst = strconv.AppendInt(append(dst, `,"partition":`...), int64(p.Partition), 10)
	dst = strconv.AppendInt(append(dst, `,"folded_to":`...), p.FoldedTo, 10)
	dst = strconv.AppendInt(append(dst, `,"source_to":`...), p.SourceTo, 10)
	dst = append(dst, `,"received":"`...)
	dst = time.UnixMilli(p.ReceivedMs).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	return append(dst, `"}`...)
}

// AppendJSON appends the value of a record about a generation.
func (g *Generation) AppendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"window":`...), g.Window)
	dst = strconv.AppendUint(append(dst, `,"site_id":`...), uint64(g.SiteID), 10)
	dst = strconv.AppendUint(append(dst, `,"generation":`...), uint64(g.Generation), 10)
	dst = strconv.AppendInt(append(dst, `,"partition":`...), int64(g.Partition), 10)
	dst = strconv.AppendInt(append(dst, `,"folded_to":`...), g.FoldedTo, 10)
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0 // start of the text that is not appended yet
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= ' ' && b != '"' && b != '\\' && b != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[plain:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			default:
				dst = append(dst, `\u00`...)
				dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
			}
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[plain:i]...), "\uFFFD"...)
			plain = i + 1
		}
		i += size
	}
	return append(append(dst, s[plain:]...), '"')
}
