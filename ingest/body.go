package ingest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// requestBody is the body of a request. Bodies that are large, or may become so, hold a share of the memory that all may have together.
type requestBody struct {
	bytes.Buffer
	held int64
}

// bodies holds buffers for request bodies. Large ones are not kept.
var bodies = sync.Pool{New: func() any { return new(requestBody) }}

const (
	keepBody  = 1 << 20
	smallBody = 64 << 10 // up to this size bodies hold no share: connections bound their number
)

// largeBodyTime is how long a large body may take to come: 16 MiB at 280 KiB a second. Small ones have the time that the server gives to all, so
// that who dribbles them holds no connection for long.
const largeBodyTime = 60 * time.Second

// errBodies is returned when the bodies that are being read take all the memory they may.
var errBodies = errors.New("too many large bodies at once")

func (i *Ingest) putBody(b *requestBody) {
	if b.held > 0 {
		i.bodies.Add(-b.held)
		b.held = 0
	}
	if b.Cap() <= keepBody {
		b.Reset()
		bodies.Put(b)
	}
}

// hold takes the share of a body that may become this large.
func (i *Ingest) hold(b *requestBody, size int64) error {
	if size <= smallBody {
		return nil
	}
	if i.bodies.Add(size) > i.cfg.BodiesBytes {
		i.bodies.Add(-size)
		return errBodies
	}
	b.held = size
	return nil
}

// readBody reads a whole body of at most limit bytes, decompressed where its Content-Encoding says so. The caller gives the buffer back with
// putBody, also after an error. An error is *http.MaxBytesError when the body is larger, errBodies when there is no room for it now, and
// errEncoding when it is compressed in a way that is not known here.
func (i *Ingest) readBody(w http.ResponseWriter, r *http.Request, limit int64) (*requestBody, error) {
	b := bodies.Get().(*requestBody)
	unpack, err := decoderOf(r.Header["Content-Encoding"])
	if err != nil {
		discardBody(w, r)
		return b, err
	}
	if r.ContentLength > limit {
		discardBody(w, r)
		return b, &http.MaxBytesError{Limit: limit}
	}
	size := r.ContentLength
	if size < 0 || unpack != nil {
		size = limit
	}
	if err := i.hold(b, size); err != nil {
		discardBody(w, r)
		return b, err
	}
	if b.held > 0 { // few can at once: see hold
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(largeBodyTime)) // without it, that of the server holds
	}
	if unpack == nil {
		if r.ContentLength > 0 {
			b.Grow(int(r.ContentLength) + bytes.MinRead) // MinRead: else the last read grows it once more
		}
		err = readAtMost(b, r.Body, limit)
	} else {
		err = unpack(r.Body, func(plain io.Reader) error { return readAtMost(b, plain, limit) })
	}
	if err != nil {
		discardBody(w, r)
	}
	return b, err
}

// readAtMost reads to the end, or to one byte above the limit.
func readAtMost(b *requestBody, from io.Reader, limit int64) error {
	n, err := b.ReadFrom(&io.LimitedReader{R: from, N: limit + 1})
	if err == nil && n > limit {
		err = &http.MaxBytesError{Limit: limit}
	}
	return err
}

// How much of a body that is refused is read all the same: a client that is still sending when the connection closes sees the connection
// break, and not the answer.
const (
	discardBytes = 32 << 20
	discardTime  = 5 * time.Second
)

// discardBody reads what is left of a body that is refused, within bounds, and has the connection closed after the answer. A client that
// waits to be told to go on has sent nothing and gets its answer at once.
func discardBody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	if r.Body == nil || r.Header["Expect"] != nil {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime)) // without it, that of the server holds
	_, _ = io.CopyN(io.Discard, r.Body, discardBytes)
}

// takesJSON reports whether a body of this type may be JSON. Browsers send text/plain to avoid a preflight, or nothing at all; the form
// type is what curl sends when nobody thought of it, so there the body decides.
func takesJSON(contentType string, body func() byte) bool {
	switch contentType {
	case "", "application/json", "text/plain", "text/plain;charset=UTF-8":
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch media {
	case "application/json", "text/plain", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/octet-stream":
		return true
	case "application/x-www-form-urlencoded":
		c := body()
		return c == '{' || c == '['
	}
	return strings.HasSuffix(media, "+json")
}

// firstByte returns the first byte that is no white space, 0 when there is none.
func firstByte(b []byte) byte {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// invalidAt returns the index of the first byte that is not UTF-8. b is known to have one.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}
