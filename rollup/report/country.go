package report

import "github.com/weir-analytics/weir/ingest/hit"

// country is all hits by ISO 3166-1 alpha-2 code of the country; "??" when it is not known.
type country struct{}

func (country) Name() string  { return "country" }
func (country) PerLink() bool { return true }

func (country) Row(h *hit.Hit) (string, bool) {
	if h.Country == "" {
		return UnknownCountry, true
	}
	return h.Country, true
}
