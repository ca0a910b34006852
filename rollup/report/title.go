package report

import "github.com/weir-analytics/weir/ingest/hit"

// title is page views of people by title of the page, where one is told.
type title struct{}

func (title) Name() string  { return "title" }
func (title) PerLink() bool { return false }

func (title) Row(h *hit.Hit) (string, bool) {
	return h.Title, h.Kind == hit.Pageview && !h.Bot && h.Title != ""
}

// VisitRow counts no visits: a visit is of many pages.
func (title) VisitRow(*hit.Hit) (string, bool) { return "", false }

// EngagedRow counts no engagements: they tell no title.
func (title) EngagedRow(*hit.Hit) (string, bool) { return "", false }
