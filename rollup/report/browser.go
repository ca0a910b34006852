package report

import "github.com/weir-analytics/weir/ingest/hit"

// browser is all hits by family of the browser.
type browser struct{}

func (browser) Name() string  { return "browser" }
func (browser) PerLink() bool { return true }

func (browser) Row(h *hit.Hit) (string, bool) { return orUnknown(h.Browser), true }
