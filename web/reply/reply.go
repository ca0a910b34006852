package reply

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Document is the body of every error answer. A streamed answer that fails half-way puts it on its last line.
type Document struct {
	Error Detail `json:"error"`
}

// Detail is what is said about an error.
type Detail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

// JSON writes v with a status. Nothing of the API may be cached: what one caller may see, the next may not.
func JSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("BUG: an answer cannot be encoded: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client is gone: nobody is left to tell
}

// NoContent answers 204.
func NoContent(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// Fail answers err. It may be called once, before anything else was written. Errors that are our fault are logged with the route.
func Fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	e := From(err)
	if e.Status == http.StatusInternalServerError {
		log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
	}
	JSON(w, e.Status, Document{Error: e.Detail()})
}

// Decode reads the JSON object of a request into v. Unknown fields are refused, because a misspelled optional field would otherwise be
// ignored without a word. The route bounds the body.
func Decode(r *http.Request, v any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Message: "send the body as JSON with the header Content-Type: application/json"}
	}
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return decodeError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Invalid("", "the body holds more than one JSON document")
	}
	return nil
}

func decodeError(err error) error {
	var tooLarge *http.MaxBytesError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case errors.As(err, &wrongType):
		return Invalid(wrongType.Field, "%s is a %s, want a %s", nameOr(wrongType.Field, "the body"), wrongType.Value, kindName(wrongType.Type.Kind()))
	case errors.Is(err, io.EOF):
		return Invalid("", "the body is empty, want a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Invalid("", "the JSON in the body is cut off")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		field = strings.Trim(field, `"`)
		return Invalid(field, "there is no field %q here", field)
	}
	return Invalid("", "the body is not JSON: %v", err)
}

// kindName names what was wanted in the words of JSON.
func kindName(kind reflect.Kind) string {
	switch kind {
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	default:
		return "number"
	}
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}
