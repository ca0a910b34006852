package report

import "github.com/weir-analytics/weir/ingest/hit"

// hostname is page views, of people and bots, by host of the page.
type hostname struct{}

func (hostname) Name() string  { return "hostname" }
func (hostname) PerLink() bool { return false }

func (hostname) Row(h *hit.Hit) (string, bool) { return h.Host, h.Kind == hit.Pageview && h.Host != "" }

// VisitRow counts a visit at the host of the page that it begins with.
func (hostname) VisitRow(first *hit.Hit) (string, bool) { return first.Host, first.Host != "" }
