package reply

import (
	"errors"
	"net/http"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
)

// fromRollup maps what a question about counts can fail with, or returns nil for anything else.
func fromRollup(err error) *Error {
	var invalid *rollup.InvalidError
	switch {
	case errors.As(err, &invalid):
		return Invalid(invalid.Field, "%s", invalid.Error())
	case errors.Is(err, rollup.ErrNoSite):
		return NotFound("the site was deleted")
	case errors.Is(err, rollup.ErrBehind):
		return Busy(time.Second, "%s", rollup.ErrBehind)
	}
	return nil
}

// fromController maps what a change of the cluster state can fail with, or returns nil for anything else.
func fromController(err error) *Error {
	var invalid state.ErrInvalid
	switch {
	case errors.As(err, &invalid):
		return Invalid(invalid.Field, "%s", invalid.Error())
	case errors.Is(err, state.ErrNotFound):
		return NotFound("%s", err)
	case errors.Is(err, state.ErrExists), errors.Is(err, state.ErrSetupDone):
		return &Error{Status: http.StatusConflict, Code: "exists", Message: err.Error()}
	case errors.Is(err, raftfsm.ErrUnavailable):
		return Busy(time.Second, "%s", raftfsm.ErrUnavailable)
	case errors.Is(err, raftfsm.ErrOutcomeUnknown):
		return &Error{Status: http.StatusGatewayTimeout, Code: "outcome_unknown", Message: raftfsm.ErrOutcomeUnknown.Error()}
	}
	return nil
}
