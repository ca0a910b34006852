package report

import "github.com/weir-analytics/weir/ingest/hit"

// event is events of people by name.
type event struct{}

func (event) Name() string  { return "event" }
func (event) PerLink() bool { return false }

func (event) Row(h *hit.Hit) (string, bool) {
	return h.Name, h.Kind == hit.Event && !h.Bot && h.Name != ""
}

// VisitRow counts no visits: a visit may have many events.
func (event) VisitRow(*hit.Hit) (string, bool) { return "", false }

// EngagedRow counts no engagements.
func (event) EngagedRow(*hit.Hit) (string, bool) { return "", false }
