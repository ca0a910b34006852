package reply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
)

func TestAWrongBodyIsNamed(t *testing.T) {
	for _, test := range []struct{ name, kind, body, code, field, says string }{
		{"fine", "application/json; charset=utf-8", `{"name":"a","sizes":[1]}`, "", "", ""},
		{"a form", "application/x-www-form-urlencoded", `{}`, "unsupported_media_type", "", "application/json"},
		{"no type", "", `{}`, "unsupported_media_type", "", "application/json"},
		{"nothing", "application/json", ``, "invalid", "", "empty"},
		{"half of it", "application/json", `{"name":`, "invalid", "", "cut off"},
		{"no JSON", "application/json", `name=a`, "invalid", "", "not JSON"},
		{"two documents", "application/json", `{} {}`, "invalid", "", "more than one"},
		{"a misspelled field", "application/json", `{"nmae":"a"}`, "invalid", "nmae", "no field"},
		{"a number for a text", "application/json", `{"name":1}`, "invalid", "name", "name is a number, want a string"},
		{"a text for a list", "application/json", `{"sizes":"1"}`, "invalid", "sizes", "sizes is a string, want a list"},
		{"a list for the whole", "application/json", `[]`, "invalid", "", "array"},
		{"too much", "application/json", `{"name":"` + strings.Repeat("a", 200) + `"}`, "too_large", "", "100 bytes"},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		r.Body = http.MaxBytesReader(nil, r.Body, 100)
		var into struct {
			Name  string `json:"name"`
			Sizes []int  `json:"sizes"`
		}
		err := Decode(r, &into)
		if test.code == "" {
			if err != nil || into.Name != "a" {
				t.Errorf("%s: %v, %+v", test.name, err, into)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: taken", test.name)
			continue
		}
		if e := From(err); e.Code != test.code || e.Field != test.field || !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: %s, field %q: %s", test.name, e.Code, e.Field, e.Message)
		}
	}
}

// TestWhatIsNotDoneAndWhatIsNotKnownStayApart holds the table of errors: a client that gets 503 may send again, one that gets 504 must look first.
func TestWhatIsNotDoneAndWhatIsNotKnownStayApart(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		code   string
		retry  string
	}{
		{state.ErrNotFound, 404, "not_found", ""},
		{state.ErrExists, 409, "exists", ""},
		{state.ErrInvalid{Field: "name"}, 400, "invalid", ""},
		{raftfsm.ErrUnavailable, 503, "unavailable", "1"},
		{raftfsm.ErrOutcomeUnknown, 504, "outcome_unknown", ""},
		{errors.Join(raftfsm.ErrOutcomeUnknown, context.DeadlineExceeded), 504, "outcome_unknown", ""},
		{context.DeadlineExceeded, 503, "unavailable", "1"},
		{rollup.ErrBehind, 503, "unavailable", "1"},
		{rollup.ErrNoSite, 404, "not_found", ""},
		{Unauthenticated("who are you"), 401, "unauthenticated", ""},
		{RateLimited(1500*time.Millisecond, "wait"), 429, "rate_limited", "2"},
		{errors.New("secret of the disk"), 500, "internal", ""},
	} {
		w := httptest.NewRecorder()
		Fail(w, httptest.NewRequest("GET", "/", nil), slog.New(slog.DiscardHandler), fmt.Errorf("do it: %w", test.err))
		h := w.Header()
		if w.Code != test.status || !strings.Contains(w.Body.String(), `"code":"`+test.code+`"`) || h.Get("Retry-After") != test.retry || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %d %s %v", test.err, w.Code, w.Body, h)
		}
		if (h.Get("WWW-Authenticate") != "") != (w.Code == 401) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: %s %v", test.err, w.Body, h)
		}
	}
}
