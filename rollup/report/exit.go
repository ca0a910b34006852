package report

import "github.com/weir-analytics/weir/ingest/hit"

// exit is visits by the page they end with: the path of the last page view or event. Visits of clicks alone are in no row. It counts no
// hits. Its rows are found where visits are known, not from a hit.
type exit struct{}

func (exit) Name() string  { return Exit }
func (exit) PerLink() bool { return false }

func (exit) Row(*hit.Hit) (string, bool) { return "", false }
