package report

import "github.com/weir-analytics/weir/ingest/hit"

// link is the hits on short links, by link.
type link struct{}

func (link) Name() string  { return Link }
func (link) PerLink() bool { return false }

func (link) Row(h *hit.Hit) (string, bool) { return h.Link, h.Link != "" }
