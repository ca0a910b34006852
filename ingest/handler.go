package ingest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/hit"
)

// Paths that take hits in shapes of our own.
const (
	pathEvent  = "/api/event"
	pathClicks = "/api/clicks"
	pathPixel  = "/p.gif"
	pathSchema = "/schema/hit.proto"
)

// pathSlug is the beginning of addresses of pictures in Umami's shape: a name of any kind follows.
const pathSlug = "/p/"

// route is how one path is answered.
type route struct {
	methods string // allowed ones, as the header Allow lists them; OPTIONS is always
	serve   func(w http.ResponseWriter, r *http.Request, client clientip.Client)
}

// routeTable lists all paths.
func (i *Ingest) routeTable() map[string]route {
	const get, post, both = "GET", "POST", "GET, POST"
	return map[string]route{
		pathEvent:  {post, i.serveEvent}, // Plausible, and our own tracker
		pathClicks: {post, i.serveClicks},
		pathPixel:  {get, i.servePixel},
		pathSchema: {get, serveSchema},

		"/api/send":  {post, i.serveUmami},
		"/api/batch": {post, i.serveUmamiBatch},
		pathSlug:     {get, i.serveUmamiPixel},

		"/count":        {both, i.serveGoatCounter},
		"/api/v0/count": {post, i.serveGoatCounterAPI},

		"/g/collect":        {both, i.serveGA4},
		"/mp/collect":       {post, i.serveGA4Server},
		"/debug/mp/collect": {post, i.serveGA4Debug},

		"/matomo.php": {both, i.serveMatomo},
		"/piwik.php":  {both, i.serveMatomo},

		"/collect": {get, i.serveFathom},

		"/hooks/shlink": {post, i.serveShlink},
		"/hooks/dub":    {post, i.serveDub},
		"/hooks/yourls": {post, i.serveClicks},
		"/hooks/bitly":  {post, i.serveClicks},
		"/hooks/clicks": {post, i.serveClicks},
	}
}

// Paths lists what Handler answers, for the router in front of it: patterns in the syntax of net/http.ServeMux and chi.
func Paths() []string {
	paths := []string{pathEvent, pathClicks, pathPixel, pathSchema}
	var more []string
	for path := range (&Ingest{}).routeTable() {
		if path == pathSlug {
			path += "{slug}"
		}
		if !slices.Contains(paths, path) {
			more = append(more, path)
		}
	}
	more = append(more, pathLink+"{slug}", pathLink+"{slug}/*")
	slices.Sort(more)
	return append(paths, more...)
}

// Handler answers the paths that take hits; routeTable lists them. It may be called before Run, and answers 503 after Run has ended.
func (i *Ingest) Handler() http.Handler { return http.HandlerFunc(i.serve) }

func (i *Ingest) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasPrefix(path, pathLink) {
		i.serveLink(w, r)
		return
	}
	if strings.HasPrefix(path, pathSlug) && len(path) > len(pathSlug) && strings.IndexByte(path[len(pathSlug):], '/') < 0 {
		path = pathSlug
	} else if path == pathSlug {
		path = ""
	}
	to, ok := i.routes[path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if !allow(w, r, &to) {
		return
	}
	client := i.clients.Resolve(r)
	if !i.limited(w, r, client) {
		to.serve(w, r, client)
	}
}

func serveSchema(w http.ResponseWriter, _ *http.Request, _ clientip.Client) {
	w.Header()["Content-Type"] = textPlain
	_, _ = w.Write([]byte(hit.Schema()))
}

// allow sets the headers that let pages of other origins send hits, answers preflights, and refuses other methods. Hits carry no
// credentials, so any origin may send them.
func allow(w http.ResponseWriter, r *http.Request, to *route) bool {
	h := w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Vary"] = varyOrigin
	h["X-Content-Type-Options"] = noSniff
	// Beacons and some trackers send with credentials, for which "*" is no answer. What is answered tells nothing about who is logged in.
	if origin := r.Header["Origin"]; len(origin) > 0 {
		h["Access-Control-Allow-Origin"] = origin[:1:1]
		h["Access-Control-Allow-Credentials"] = credentials
	}
	switch {
	case r.Method == to.methods, strings.Contains(to.methods, r.Method) && r.Method != "":
		if r.Header["Origin"] != nil {
			h["Access-Control-Expose-Headers"] = exposed
		}
		return true
	case r.Method == http.MethodHead:
		if strings.HasPrefix(to.methods, http.MethodGet) {
			return true
		}
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", to.methods+", OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Encoding, Content-Type, X-Debug-Request, X-Umami-Cache, X-Umami-Website-Id")
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	h.Set("Allow", to.methods+", OPTIONS")
	writeFieldError(w, http.StatusMethodNotAllowed, "method", "must be "+strings.Replace(to.methods, ",", " or", 1))
	return false
}

// Values of headers that every answer has, shared because they never change.
var (
	anyOrigin   = []string{"*"}
	noSniff     = []string{"nosniff"}
	exposed     = []string{"X-Plausible-Dropped, X-Weir-Ack, X-Weir-Dropped, X-Weir-Note, Retry-After"}
	credentials = []string{"true"}
	varyOrigin  = []string{"Origin"}
	textPlain   = []string{"text/plain; charset=utf-8"}
	textJSON    = []string{"application/json; charset=utf-8"}
	bareJSON    = []string{"application/json"}
	imageGIF    = []string{"image/gif"}
	noStore     = []string{"no-store"}
)
