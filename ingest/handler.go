package ingest

import (
	"net/http"

	"github.com/weir-analytics/weir/ingest/hit"
)

// Paths that take hits.
const (
	pathEvent  = "/api/event"
	pathClicks = "/api/clicks"
	pathPixel  = "/p.gif"
	pathSchema = "/schema/hit.proto"
)

// Paths lists what Handler answers, for the router in front of it.
func Paths() []string { return []string{pathEvent, pathClicks, pathPixel, pathSchema} }

// Handler answers the paths that take hits:
//
//	POST /api/event        one hit of a page, in Plausible's shape
//	POST /api/clicks       clicks of short links, NDJSON or a JSON array
//	GET  /p.gif            picture for pages without script
//	GET  /schema/hit.proto schema of the records in the topic events
//
// It may be called before Run, and answers 503 after Run has ended.
func (i *Ingest) Handler() http.Handler { return http.HandlerFunc(i.serve) }

func (i *Ingest) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case pathEvent:
		if allow(w, r, http.MethodPost) {
			i.serveEvent(w, r)
		}
	case pathClicks:
		if allow(w, r, http.MethodPost) {
			i.serveClicks(w, r)
		}
	case pathPixel:
		if allow(w, r, http.MethodGet) {
			i.servePixel(w, r)
		}
	case pathSchema:
		if allow(w, r, http.MethodGet) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(hit.Schema()))
		}
	default:
		http.NotFound(w, r)
	}
}

// allow sets the headers that let pages of other origins send hits, answers preflights, and refuses other methods. Hits carry no
// credentials, so any origin may send them.
func allow(w http.ResponseWriter, r *http.Request, method string) bool {
	h := w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["X-Content-Type-Options"] = noSniff
	switch r.Method {
	case method:
		h["Access-Control-Expose-Headers"] = exposed
		return true
	case http.MethodHead:
		return method == http.MethodGet
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", method+", OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Debug-Request")
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", method+", OPTIONS")
		writeFieldError(w, http.StatusMethodNotAllowed, "method", "must be "+method)
	}
	return false
}

// Values of headers that every answer has, shared because they never change.
var (
	anyOrigin = []string{"*"}
	noSniff   = []string{"nosniff"}
	exposed   = []string{"X-Plausible-Dropped, X-Weir-Dropped, X-Weir-Note, Retry-After"}
	textPlain = []string{"text/plain; charset=utf-8"}
	textJSON  = []string{"application/json; charset=utf-8"}
	imageGIF  = []string{"image/gif"}
	noStore   = []string{"no-store"}
)
