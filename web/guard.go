package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"

	"github.com/weir-analytics/weir/web/reply"
)

const (
	maxBodyBytes = 64 << 10         // of a JSON body; real ones have a few hundred bytes
	briefTimeout = 30 * time.Second // for a brief route to find its answer
)

// contentPolicy lets the dashboard load what comes with it and nothing else, and nobody frame it.
const contentPolicy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// securityHeaders go with every answer but those that other sites' pages load, which change some of them.
func securityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Robots-Tag", "noindex")
		next.ServeHTTP(w, r)
	})
}

// recoverPanic answers 500 for a request that panics and keeps the node up. The log gets the place, the client does not.
func (s *Server) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			if what == http.ErrAbortHandler {
				panic(what)
			}
			s.log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", what, "stack", string(debug.Stack()))
			reply.JSON(w, http.StatusInternalServerError, reply.Document{Error: reply.From(errPanic).Detail()})
		}()
		next.ServeHTTP(w, r)
	})
}

// brief bounds the body and the time of a route and compresses its answer.
func (s *Server) brief(next http.HandlerFunc) http.HandlerFunc {
	bounded := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), briefTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next(w, r.WithContext(ctx))
	}
	return s.compress(http.HandlerFunc(bounded)).ServeHTTP
}

func newCompressor() (func(http.Handler) http.HandlerFunc, error) {
	return gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(5), gzhttp.ContentTypes([]string{"application/json"}))
}

// noSuchPath answers paths of the API that do not exist.
func (s *Server) noSuchPath(w http.ResponseWriter, r *http.Request) {
	reply.Fail(w, r, s.log, reply.NotFound("there is no path %.200q in this API", r.URL.Path))
}

// methodNotAllowed answers paths of the API that exist for other methods, and says which.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if chi.RouteContext(r.Context()).Routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	reply.Fail(w, r, s.log, &reply.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Message: fmt.Sprintf("%.20q is not possible here, want one of: %s", r.Method, strings.Join(allowed, ", "))})
}

// hitSchema answers GET /schema/hit.proto.
func (s *Server) hitSchema(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.cfg.HitSchema))
}

// onceStarted answers 503 until the cluster state is known: before that every site is missing and every password wrong.
func (s *Server) onceStarted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Started != nil {
			select {
			case <-s.cfg.Started:
			default:
				reply.Fail(w, r, s.cfg.Log, reply.Busy(time.Second, "the node is still starting; nothing was done, try again"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
