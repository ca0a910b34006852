package report

import "github.com/weir-analytics/weir/ingest/hit"

// entry is visits by the page they begin with: the path of the first hit, if that is of a page. Visits that begin with a click on a short
// link are in no row. It counts no hits.
type entry struct{}

func (entry) Name() string  { return "entry" }
func (entry) PerLink() bool { return false }

func (entry) Row(*hit.Hit) (string, bool) { return "", false }

// VisitRow counts a visit where it begins.
func (entry) VisitRow(first *hit.Hit) (string, bool) {
	if first.Kind != hit.Pageview && first.Kind != hit.Event {
		return "", false
	}
	return pathOf(first), true
}
