package reply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is an error made for a client: status, code and text are what the client gets.
type Error struct {
	Status     int
	Code       string // one of the codes of docs/interfaces.md
	Message    string // a sentence that says what to do
	Field      string // the field or parameter to blame, or ""
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// Detail returns the part of e that goes into the body.
func (e *Error) Detail() Detail { return Detail{Code: e.Code, Message: e.Message, Field: e.Field} }

// Invalid says that a field or parameter is wrong.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid", Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFound says that something does not exist.
func NotFound(format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf(format, args...)}
}

// Unauthenticated says that the caller must say who it is.
func Unauthenticated(format string, args ...any) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "unauthenticated", Message: fmt.Sprintf(format, args...)}
}

// Forbidden says that the caller is known and may not.
func Forbidden(format string, args ...any) *Error {
	return &Error{Status: http.StatusForbidden, Code: "forbidden", Message: fmt.Sprintf(format, args...)}
}

// Busy says that nothing was done and that it is worth another try.
func Busy(wait time.Duration, format string, args ...any) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: "unavailable", RetryAfter: wait, Message: fmt.Sprintf(format, args...)}
}

// RateLimited says that the caller tried too often.
func RateLimited(wait time.Duration, format string, args ...any) *Error {
	return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: wait, Message: fmt.Sprintf(format, args...)}
}

// From turns any error into the one a client gets. rooms.go holds the table of other rooms.
func From(err error) *Error {
	var own *Error
	var tooLarge *http.MaxBytesError
	if e := fromController(err); e != nil { // first: ErrOutcomeUnknown may wrap the end of a context
		return e
	}
	if e := fromRollup(err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Message: fmt.Sprintf("the body is larger than the %d bytes that this path takes", tooLarge.Limit)}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Busy(time.Second, "the answer took too long, try again")
	}
	return &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "something went wrong on our side; the log of the node says more"}
}
