package importer

import "fmt"

// Reason says why a line is no hit. The list is fixed; people read it in reports.
type Reason string

// Reasons.
const (
	BlankLine     Reason = "blank line"
	Comment       Reason = "comment"
	UnknownFormat Reason = "not a known log format"
	TooLong       Reason = "line too long"
	CutOff        Reason = "line is cut off"
	BadTime       Reason = "time cannot be read"
	BadRequest    Reason = "request is not in quotes"
	BadStatus     Reason = "status is missing"
	BadJSON       Reason = "not valid JSON"
	NoAccess      Reason = "JSON, but not of a request"
	NoRequest     Reason = "not about a request"
	Header        Reason = "header of an export"
	BadColumn     Reason = "a column is missing or empty"
	BadQuotes     Reason = "quotes are not closed"
	NoHit         Reason = "neither a page view nor an event"
	Totals        Reason = "sums, not hits"
	InFuture      Reason = "time is in the future"
	TooEarly      Reason = "time is before 1990"
)

// Bad is the error of a line that is no hit.
type Bad struct {
	Reason Reason
	Detail string
}

// Error implements error.
func (b *Bad) Error() string {
	if b.Detail == "" {
		return string(b.Reason)
	}
	return string(b.Reason) + ": " + b.Detail
}

func bad(reason Reason, format string, args ...any) error {
	return &Bad{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
