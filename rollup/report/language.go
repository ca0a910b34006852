package report

import "github.com/weir-analytics/weir/ingest/hit"

// language is the hits of people by language of the browser, where one is told.
type language struct{}

func (language) Name() string  { return "language" }
func (language) PerLink() bool { return false }

func (language) Row(h *hit.Hit) (string, bool) { return h.Language, !h.Bot && h.Language != "" }
