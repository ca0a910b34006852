package report

import (
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
)

// referrer is the hits of people by host of the page they came from: "(direct)" when none is told, "(internal)" when it is the site itself.
type referrer struct{}

func (referrer) Name() string  { return "referrer" }
func (referrer) PerLink() bool { return true }

func (referrer) Row(h *hit.Hit) (string, bool) {
	switch {
	case h.Bot:
		return "", false
	case h.RefHost == "":
		return Direct, true
	case h.RefHost == strings.TrimPrefix(h.Host, "www.") || h.RefHost == h.Site:
		return Internal, true
	default:
		return h.RefHost, true
	}
}
