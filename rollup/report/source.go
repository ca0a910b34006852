package report

import (
	"github.com/weir-analytics/weir/ingest/hit"
	from "github.com/weir-analytics/weir/ingest/source"
)

// source is the hits of people that came from outside, by name of the source: a campaign's, else that of a known referrer, else the
// referrer's host, "(direct)" when nothing is told. Hits from a page of the site itself are in no row.
type source struct{}

func (source) Name() string  { return "source" }
func (source) PerLink() bool { return false }

func (source) Row(h *hit.Hit) (string, bool) {
	name, _, ok := sourceOf(h)
	return name, ok
}

// channel is the hits of people that came from outside, by channel: kind of source.
type channel struct{}

func (channel) Name() string  { return "channel" }
func (channel) PerLink() bool { return false }

func (channel) Row(h *hit.Hit) (string, bool) {
	_, kind, ok := sourceOf(h)
	return string(kind), ok
}

// sourceOf finds source and channel. Most hits have neither referrer nor query, or come from the site itself.
func sourceOf(h *hit.Hit) (name string, kind from.Channel, ok bool) {
	switch {
	case h.Bot || h.Kind == hit.Request:
		return "", "", false
	case h.RefHost == "" && h.Query == "" && h.ClickID == "" && h.Campaign == (hit.Campaign{}) && h.Referrer == "":
		return Direct, from.Direct, true
	}
	name, kind = from.OfHit(h)
	return name, kind, kind != from.Internal
}
