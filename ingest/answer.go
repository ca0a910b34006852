package ingest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// refusal is an answer that takes nothing.
type refusal struct {
	status  int
	field   string // what is wrong, in the words of Plausible's API
	message string // how, and what to do
	reason  reason
	site    state.SiteID // 0: not known
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
	i.lostRefused(&r)
	sayDropped(w, &r)
}

// lostRefused counts a refusal that is one of several in an answer.
func (i *Ingest) lostRefused(r *refusal) { i.lostLike(r.site, r.reason, 1, exampleOf(r)) }

// exampleOf is what the sender is told. Where that repeats something that may be about a person, there is none.
func exampleOf(r *refusal) DroppedHit {
	if strings.ContainsAny(r.message, "@\"") {
		return DroppedHit{r.field}
	}
	return DroppedHit{r.field + " " + r.message}
}

// sayDropped sets the headers of a refusal.
func sayDropped(w http.ResponseWriter, r *refusal) {
	h := w.Header()
	h.Set("X-Weir-Dropped", string(r.reason))
	if (r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
}

// refusalOf words an error of the way to the log.
func refusalOf(err error) refusal {
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return refusal{http.StatusServiceUnavailable, "server", "cannot tell whether the hit was written; sent again with the same id it is counted once", reasonUnknown, 0}
	case errors.Is(err, errQueueFull):
		return refusal{http.StatusServiceUnavailable, "server", "takes no more hits right now; nothing was written, send it again", reasonQueueFull, 0}
	case errors.Is(err, errNoTopic):
		return refusal{http.StatusServiceUnavailable, "server", "is still starting; nothing was written, send it again", reasonNotWritten, 0}
	case errors.Is(err, errStopping):
		return refusal{http.StatusServiceUnavailable, "server", "is stopping; nothing was written, send it again", reasonNotWritten, 0}
	}
	return refusal{http.StatusServiceUnavailable, "server", "could not write the hit; nothing was written, send it again", reasonNotWritten, 0}
}

// refusalAt is refusalOf for hits of a site.
func refusalAt(err error, site state.SiteID) refusal {
	r := refusalOf(err)
	r.site = site
	return r
}

// refusalOfBody words an error of reading or understanding a body.
func refusalOfBody(err error) refusal {
	var field *dialect.FieldError
	var syntax *jsonscan.SyntaxError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errBodies):
		return refusal{http.StatusServiceUnavailable, "server", "is reading too many large bodies at once; nothing was written, send it again", reasonQueueFull, 0}
	case errors.Is(err, errEncoding):
		return refusal{http.StatusUnsupportedMediaType, "content-encoding", "must be gzip, deflate, zstd or none; send the body in one of them", reasonContentType, 0}
	case errors.As(err, &field):
		return refusal{http.StatusBadRequest, field.Field, field.Message, reasonInvalid, 0}
	case errors.As(err, &syntax):
		return refusal{http.StatusBadRequest, "body", syntax.Error(), reasonNotJSON, 0}
	case errors.As(err, &tooLarge):
		return refusal{http.StatusRequestEntityTooLarge, "body", "is larger than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes; send less at once", reasonTooLarge, 0}
	}
	return refusal{http.StatusBadRequest, "body", "could not be read: " + err.Error(), reasonInvalid, 0}
}

// refusalNotUTF8 says where text stops being text.
func refusalNotUTF8(at int) refusal {
	return refusal{http.StatusBadRequest, "body", "is not valid UTF-8 at byte " + strconv.Itoa(at) + "; encode it as UTF-8", reasonNotUTF8, 0}
}
