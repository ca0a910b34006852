package delta

import (
	"encoding/json"
	"time"
)

// MarshalJSON returns the delta as weir consume prints it. Visitors are given as numbers of distinct ids.
func (d *Delta) MarshalJSON() ([]byte, error) {
	type row struct {
		Hits      int64 `json:"hits"`
		Humans    int64 `json:"humans"`
		Bots      int64 `json:"bots"`
		Visitors  int   `json:"visitors"`
		Pageviews int64 `json:"pageviews"`
		Events    int64 `json:"events"`
		Clicks    int64 `json:"clicks"`

		Visits      int64 `json:"visits,omitempty"`
		Bounces     int64 `json:"bounces,omitempty"`
		DurationMs  int64 `json:"duration_ms,omitempty"`
		EngagedMs   int64 `json:"engaged_ms,omitempty"`
		ScrollSum   int64 `json:"scroll_sum,omitempty"`
		ScrollViews int64 `json:"scroll_views,omitempty"`
	}
	type cell struct {
		Report string         `json:"report"`
		Link   string         `json:"link,omitempty"`
		Rows   map[string]row `json:"rows"`
	}
	doc := struct {
		SiteID    uint32     `json:"site_id,omitempty"`
		Minute    *time.Time `json:"minute,omitempty"`
		Partition int32      `json:"partition"`
		From      int64      `json:"from"`
		To        int64      `json:"to"`
		At        int64      `json:"at"`
		Index     int        `json:"index"`
		Count     int        `json:"count"`
		Received  time.Time  `json:"received"`
		Visitors  int        `json:"visitors"`
		Cells     []cell     `json:"cells,omitempty"`
	}{SiteID: d.SiteID, Partition: d.Partition, From: d.From, To: d.To, At: d.At, Index: d.Index, Count: d.Count,
		Received: time.UnixMilli(d.ReceivedMs).UTC(), Visitors: len(d.Visitors)}
	if d.SiteID != 0 {
		minute := time.Unix(d.Minute*60, 0).UTC()
		doc.Minute = &minute
	}
	for _, c := range d.Cells {
		out := cell{Report: c.Report, Link: c.Link, Rows: make(map[string]row, len(c.Rows))}
		for _, r := range c.Rows {
			out.Rows[r.Key] = row{r.Hits, r.Hits - r.Bots, r.Bots, len(r.Visitors), r.Pageviews, r.Events, r.Clicks,
				r.Visits, r.Bounces, r.DurationMs, r.EngagedMs, r.ScrollSum, r.ScrollViews}
		}
		doc.Cells = append(doc.Cells, out)
	}
	return json.Marshal(doc)
}
