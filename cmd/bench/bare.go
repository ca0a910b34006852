package bench

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/buger/jsonparser"
	"github.com/go-chi/chi/v5"
)

// Bare returns the handler that the node is compared with. POST /read reads the body and answers 202. POST /parse also splits it into lines
// and finds the fields of each.
func Bare() http.Handler {
	buffers := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	read := func(w http.ResponseWriter, r *http.Request, use func([]byte) bool) {
		b := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(b)
		b.Reset()
		if _, err := io.Copy(b, r.Body); err != nil || !use(b.Bytes()) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
	router := chi.NewRouter()
	router.Post("/read", func(w http.ResponseWriter, r *http.Request) { read(w, r, func([]byte) bool { return true }) })
	router.Post("/parse", func(w http.ResponseWriter, r *http.Request) { read(w, r, parseLines) })
	return router
}

var clickFields = [][]string{{"id"}, {"ts"}, {"link"}, {"site"}, {"dest"}, {"ip"}, {"ua"}, {"ref"}}

// parseLines looks at every field of every line.
func parseLines(b []byte) bool {
	found := 0
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		jsonparser.EachKey(line, func(_ int, value []byte, _ jsonparser.ValueType, err error) {
			if err == nil {
				found += len(value)
			}
		}, clickFields...)
	}
	return found > 0
}
