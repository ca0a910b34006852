package report

import "github.com/weir-analytics/weir/ingest/hit"

// page is page views, of people and bots, by path, which ends with the fragment where the site
// routes by it.
type page struct{}

func (page) Name() string  { return "page" }
func (page) PerLink() bool { return false }

func (page) Row(h *hit.Hit) (string, bool) {
	if h.Kind != hit.Pageview {
		return "", false
	}
	return pathOf(h), true
}

// VisitRow counts no visits: a visit is of many pages. See entry and exit.
func (page) VisitRow(*hit.Hit) (string, bool) { return "", false }

// EngagedRow counts engagements by their own page.
func (page) EngagedRow(h *hit.Hit) (string, bool) { return pathOf(h), true }
