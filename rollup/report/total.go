package report

import "github.com/weir-analytics/weir/ingest/hit"

// total is everything in one row.
type total struct{}

func (total) Name() string  { return Total }
func (total) PerLink() bool { return true }

func (total) Row(*hit.Hit) (string, bool) { return "", true }
