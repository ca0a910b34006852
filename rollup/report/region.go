package report

import "github.com/weir-analytics/weir/ingest/hit"

// region is the hits of people by ISO 3166-2 code of the region, or by its name where only that is known. Hits whose region
// is not known are in no row.
type region struct{}

func (region) Name() string  { return "region" }
func (region) PerLink() bool { return false }

func (region) Row(h *hit.Hit) (string, bool) {
	return orElse(h.RegionCode, h.Region), !h.Bot && (h.RegionCode != "" || h.Region != "")
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
