package report

import "github.com/weir-analytics/weir/ingest/hit"

// os is all hits by operating system.
type os struct{}

func (os) Name() string  { return "os" }
func (os) PerLink() bool { return true }

func (os) Row(h *hit.Hit) (string, bool) { return orUnknown(h.OS), true }
