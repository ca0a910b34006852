package report

import "github.com/weir-analytics/weir/ingest/hit"

// device is all hits by kind of device.
type device struct{}

func (device) Name() string  { return "device" }
func (device) PerLink() bool { return true }

func (device) Row(h *hit.Hit) (string, bool) { return orUnknown(h.Device), true }
