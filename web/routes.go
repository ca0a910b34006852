package web

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/weir-analytics/weir/web/auth"
)

// route is one line of the table below.
type route struct {
	method, path string
	need         auth.Need // what the caller must be
	kind         kind
	handle       http.HandlerFunc
}

// kind says how a route treats time and size.
type kind int

const (
	brief  kind = iota // bounded body and time, compressed
	stream             // sets its own deadlines, not compressed
)

// routes is every route of the API, below /api/v1.
func (s *Server) routes() []route {
	const GET, POST, PUT, PATCH, DELETE = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	return []route{
		{GET, "/setup", auth.Public, brief, s.auth.NeedsSetup},
		{POST, "/setup", auth.Public, brief, s.auth.CompleteSetup},
		{POST, "/login", auth.Public, brief, s.auth.Login},
		{POST, "/logout", auth.Public, brief, s.auth.Logout},
		{GET, "/me", auth.Known, brief, s.auth.Me},
		{POST, "/me/password", auth.Person, brief, s.auth.ChangePassword},

		{GET, "/sites", auth.Read, brief, s.admin.ListSites},
		{POST, "/sites", auth.Edit, brief, s.admin.AddSite},
		{GET, "/sites/{site}", auth.Read, brief, s.admin.GetSite},
		{PATCH, "/sites/{site}", auth.Edit, brief, s.admin.UpdateSite},
		{DELETE, "/sites/{site}", auth.Edit, brief, s.admin.DeleteSite},

		// The dashboard asks for counts: blockers refuse addresses with "stats" in them.
		{GET, "/sites/{site}/counts", auth.Read, brief, s.stats.Counts},
		{GET, "/sites/{site}/stats", auth.Read, brief, s.stats.Counts},
		{GET, "/sites/{site}/links", auth.Read, brief, s.stats.Links},
		{GET, "/sites/{site}/refused", auth.Read, brief, s.stats.Refused},
		{GET, "/sites/{site}/audit", auth.Edit, stream, s.stats.Audit},
		{GET, "/sites/{site}/now", auth.Read, brief, s.stats.Now},
		{GET, "/sites/{site}/live", auth.Read, stream, s.live.Stream},
		{POST, "/sites/{site}/diagnose", auth.Admin, brief, s.admin.Diagnose},
		{POST, "/sites/{site}/import", auth.Import, stream, s.admin.Import},

		{GET, "/links", auth.Read, brief, s.admin.ListLinks},
		{POST, "/sites/{site}/links", auth.Edit, brief, s.admin.PutLinks},
		{DELETE, "/links/{slug}", auth.Edit, brief, s.admin.DeleteLink},

		{GET, "/users", auth.Admin, brief, s.admin.ListUsers},
		{POST, "/users", auth.Admin, brief, s.admin.AddUser},
		{PUT, "/users/{email}/password", auth.Admin, brief, s.admin.SetPassword},
		{DELETE, "/users/{email}", auth.Admin, brief, s.admin.DeleteUser},
		{GET, "/tokens", auth.Admin, brief, s.admin.ListTokens},
		{POST, "/tokens", auth.Admin, brief, s.admin.AddToken},
		{DELETE, "/tokens/{id}", auth.Admin, brief, s.admin.DeleteToken},

		{POST, "/kafka", auth.Admin, stream, s.kafka},
		{GET, "/cluster", auth.Admin, brief, s.cluster},
		{POST, "/cluster/tokens", auth.Admin, brief, s.addJoinToken},
		{DELETE, "/cluster/nodes/{id}", auth.Admin, brief, s.removeNode},
		{GET, "/received", auth.Admin, brief, s.received},
		{GET, "/status", auth.Read, brief, s.admin.GetStatus},
		{GET, "/attribution", auth.Public, brief, s.admin.GetAttribution},
	}
}

const schemaPath = "/schema/hit.proto"

// handler puts all routes together.
func (s *Server) handler() http.Handler {
	root := chi.NewRouter()
	root.Use(middleware.GetHead)
	collect := map[string]bool{} // answered by room ingest, with its own limits, counters and cross-origin rules
	for _, path := range s.cfg.CollectPaths {
		switch {
		case path == schemaPath:
		case strings.Contains(path, "{"):
			root.Handle(path, s.cfg.Collect)
		default:
			collect[path] = true
		}
	}
	root.Group(func(r chi.Router) {
		r.Use(s.measure, securityHeaders)
		r.Get("/healthz", healthz)
		r.Get("/readyz", s.readyz)
		r.Get("/metrics", s.metricsRoute())
		r.Get(schemaPath, s.hitSchema)
		r.Get("/js/*", s.tracker)
		r.Route("/api/v1", s.api)
		r.Handle("/api/*", http.HandlerFunc(s.noSuchPath))
		r.Get("/*", s.dashboard)
	})
	return s.recoverPanic(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if collect[r.URL.Path] { // most requests by far, so they pass no router
			s.cfg.Collect.ServeHTTP(w, r)
			return
		}
		root.ServeHTTP(w, r)
	}))
}

func (s *Server) api(r chi.Router) {
	r.Use(s.onceStarted)
	r.NotFound(s.noSuchPath)
	r.MethodNotAllowed(s.methodNotAllowed)
	for _, one := range s.routes() {
		guarded := s.auth.Require(one.need, one.handle)
		if one.kind == brief {
			guarded = s.brief(guarded)
		}
		r.Method(one.method, one.path, guarded)
	}
}
