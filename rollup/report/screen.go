package report

import "github.com/weir-analytics/weir/ingest/hit"

// screen is the hits of people by class of the screen's width in CSS pixels, where one is told. The classes are those at which layouts commonly
// change.
type screen struct{}

func (screen) Name() string  { return "screen" }
func (screen) PerLink() bool { return false }

func (screen) Row(h *hit.Hit) (string, bool) {
	if h.Bot || h.ScreenWidth <= 0 {
		return "", false
	}
	switch {
	case h.ScreenWidth < 576:
		return "under 576", true
	case h.ScreenWidth < 992:
		return "576 to 991", true
	case h.ScreenWidth < 1440:
		return "992 to 1439", true
	}
	return "1440 and more", true
}
