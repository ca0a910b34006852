package report

import "github.com/weir-analytics/weir/ingest/hit"

// Report is one report.
type Report interface {
	// Name is the word for it in the API, on the command line and in keys of cells.
	Name() string
	// PerLink says whether it is kept for each short link too, beside the whole site.
	PerLink() bool
	// Row returns the key of the row that a hit belongs to, and false when the report does not count it. The key may point into the
	// memory of the hit.
	Row(h *hit.Hit) (key string, ok bool)
}

// ofVisits is a report that counts visits otherwise than in the row of the hit that they begin with.
type ofVisits interface {
	// VisitRow returns the key of the row that a visit which begins with a hit is counted in, and false when it is not counted.
	VisitRow(entry *hit.Hit) (key string, ok bool)
}

// ofEngagement is a report that counts engagements otherwise than in the row of their visit.
type ofEngagement interface {
	// EngagedRow returns the key of the row that an engagement is counted in, and false when it is not counted.
	EngagedRow(h *hit.Hit) (key string, ok bool)
}

// VisitRow returns the key of the row of a report that a visit is counted in, and false when the report does not count it. entry is the hit
// that the visit begins with. Visits are counted once more by the page they end with, in the report Exit, which has no rows here.
func VisitRow(r Report, entry *hit.Hit) (key string, ok bool) {
	if v, special := r.(ofVisits); special {
		return v.VisitRow(entry)
	}
	return r.Row(entry)
}

// EngagedRow returns the key of the row of a report that an engagement is counted in, and false when the report does not count it. entry is
// the hit that its visit begins with, or the engagement itself when it is in none.
func EngagedRow(r Report, h, entry *hit.Hit) (key string, ok bool) {
	if e, special := r.(ofEngagement); special {
		return e.EngagedRow(h)
	}
	return VisitRow(r, entry)
}

// All lists the reports. The order decides nothing but the order of work. One goroutine at a time may ask those of one list for rows: they
// remember keys.
func All() []Report {
	return append([]Report{total{}, country{}, browser{}, os{}, device{}, page{}, entry{}, exit{}, referrer{}, link{},
		source{}, channel{}, hostname{}, title{}, event{}, bot{}, region{}, &city{}, &browserVersion{}, &osVersion{}, language{}, screen{}}, utms()...)
}

// Names of reports that others need to know.
const (
	Total = "total" // one row with the empty key: everything
	Link  = "link"
	Exit  = "exit" // visits by the page they end with
)

// Names lists the names of the reports, but for the total.
func Names() []string {
	var names []string
	for _, r := range All() {
		if r.Name() != Total {
			names = append(names, r.Name())
		}
	}
	return names
}

// Known says whether there is a report of that name, and whether it is kept for each short link.
func Known(name string) (ok, perLink bool) {
	for _, r := range All() {
		if r.Name() == name {
			return true, r.PerLink()
		}
	}
	return false, false
}

// Keys of rows for what is not known or not there.
const (
	UnknownCountry = "??"
	Unknown        = "(unknown)"
	Direct         = "(direct)"
	Internal       = "(internal)"
)

func pathOf(h *hit.Hit) string {
	if h.Path == "" {
		return "/"
	}
	return h.Path
}

func orUnknown(value string) string {
	if value == "" {
		return Unknown
	}
	return value
}
