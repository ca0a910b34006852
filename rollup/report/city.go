package report

import "github.com/weir-analytics/weir/ingest/hit"

// city is the hits of people by city, with the code of region or country behind it, because many cities share a name. Hits whose city is not
// known are in no row.
type city struct{ join }

func (*city) Name() string  { return "city" }
func (*city) PerLink() bool { return false }

func (c *city) Row(h *hit.Hit) (string, bool) {
	if h.Bot || h.City == "" {
		return "", false
	}
	if in := orElse(h.RegionCode, h.Country); in != "" {
		return c.key(h.City, ", ", in), true
	}
	return h.City, true
}
