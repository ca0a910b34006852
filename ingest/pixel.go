package ingest

import (
	"net/http"

	"github.com/weir-analytics/weir/ingest/dialect"
)

// servePixel takes a page view from a picture. It always answers with the picture; headers say what became of the hit.
func (i *Ingest) servePixel(w http.ResponseWriter, r *http.Request) {
	event, err := dialect.ParsePixel(r.URL.Query(), r.Referer())
	if err != nil {
		i.answer(w, sourcePixel, refusalOfBody(err))
		return
	}
	i.takeEvent(w, r, i.clients.Resolve(r), &event, sourcePixel)
}

func writeGIF(w http.ResponseWriter, status int) {
	h := w.Header()
	h["Content-Type"] = imageGIF
	h["Cache-Control"] = noStore
	h["Cross-Origin-Resource-Policy"] = []string{"cross-origin"}
	w.WriteHeader(status)
	_, _ = w.Write(dialect.GIF)
}
