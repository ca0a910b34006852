package ingest

import (
	"net/http"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
)

// servePixel takes a page view from a picture. It always answers with the picture; headers say what became of the hit.
func (i *Ingest) servePixel(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	event, err := dialect.ParsePixel(r.URL.Query(), r.Referer())
	if err != nil {
		i.answer(w, sourcePixel, refusalOfBody(err))
		return
	}
	i.takeEvent(w, r, client, &event, sourcePixel)
}

func writeGIF(w http.ResponseWriter, status int) { writePicture(w, status, dialect.GIF) }

// writePicture answers with a picture that is never kept.
func writePicture(w http.ResponseWriter, status int, gif []byte) {
	h := w.Header()
	h["Content-Type"] = imageGIF
	h["Cache-Control"] = noStore
	h["Cross-Origin-Resource-Policy"] = []string{"cross-origin"}
	w.WriteHeader(status)
	_, _ = w.Write(gif)
}
