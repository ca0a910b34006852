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

// All lists the reports. The order decides nothing but the order of work.
func All() []Report {
	return []Report{total{}, country{}, browser{}, os{}, device{}, page{}, referrer{}, link{}}
}

// Names of reports that others need to know.
const (
	Total = "total" // one row with the empty key: everything
	Link  = "link"
)

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

func orUnknown(value string) string {
	if value == "" {
		return Unknown
	}
	return value
}
