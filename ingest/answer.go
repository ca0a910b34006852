package ingest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// refusal is an answer that takes nothing.
type refusal struct {
	status  int
	field   string // what is wrong, in the words of Plausible's API
	message string // how, and what to do
	reason  reason
}

// writeFieldError answers in the shape of Plausible's API: {"errors":{"field":["message"]}}.
func writeFieldError(w http.ResponseWriter, status int, field, message string) {
	w.Header()["Content-Type"] = textJSON
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]map[string][]string{"errors": {field: {message}}})
}

// refuse counts a refusal and answers it.
func (i *Ingest) refuse(w http.ResponseWriter, r refusal) {
	i.drop(w, r)
	writeFieldError(w, r.status, r.field, r.message)
}

// drop counts a refusal and says it in headers.
func (i *Ingest) drop(w http.ResponseWriter, r refusal) {
	i.lost(0, r.reason, 1)
	w.Header().Set("X-Weir-Dropped", string(r.reason))
	if r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
}

// refusalOf words an error of the way to the log.
func refusalOf(err error) refusal {
	switch {
	case errors.Is(err, errQueueFull):
		return refusal{http.StatusServiceUnavailable, "server", "takes no more hits right now; nothing was written, send it again", reasonQueueFull}
	case errors.Is(err, errNoTopic):
		return refusal{http.StatusServiceUnavailable, "server", "is still starting; nothing was written, send it again", reasonNotWritten}
	case errors.Is(err, errStopping):
		return refusal{http.StatusServiceUnavailable, "server", "is stopping; nothing was written, send it again", reasonNotWritten}
	case errors.Is(err, ErrOutcomeUnknown):
		return refusal{http.StatusServiceUnavailable, "server",
			"cannot tell whether the hit was written; sent again with the same id it is counted once", reasonUnknown}
	}
	return refusal{http.StatusServiceUnavailable, "server", "could not write the hit; nothing was written, send it again", reasonNotWritten}
}

// refusalOfBody words an error of reading or understanding a body.
func refusalOfBody(err error) refusal {
	var field *dialect.FieldError
	var syntax *jsonscan.SyntaxError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &field):
		return refusal{http.StatusBadRequest, field.Field, field.Message, reasonInvalid}
	case errors.As(err, &syntax):
		return refusal{http.StatusBadRequest, "body", syntax.Error(), reasonNotJSON}
	case errors.As(err, &tooLarge):
		return refusal{http.StatusRequestEntityTooLarge, "body", "is larger than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes; send less at once", reasonTooLarge}
	}
	return refusal{http.StatusBadRequest, "body", "could not be read: " + err.Error(), reasonInvalid}
}

// refusalNotUTF8 says where text stops being text.
func refusalNotUTF8(at int) refusal {
	return refusal{http.StatusBadRequest, "body", "is not valid UTF-8 at byte " + strconv.Itoa(at) + "; encode it as UTF-8", reasonNotUTF8}
}
