package admin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// oneSite is a Controller that is only looked at.
type oneSite struct {
	Controller
	state *state.State
}

func (c oneSite) State() *state.State { return c.state }

// TestTheRequestThatIsJudgedIsTheOneDescribed: nothing of the request that asks may get into the verdict on the one that is described.
func TestTheRequestThatIsJudgedIsTheOneDescribed(t *testing.T) {
	s := state.New()
	s.Sites[1] = state.Site{ID: 1, Name: "shop.example", Timezone: "UTC"}
	s.Reindex()
	for _, test := range []struct {
		name, body string
		status     int
		peer       string
		agent      string
		hint       string // Sec-Ch-Ua
		forwarded  string
		page       string
	}{
		{"the caller itself", `{}`, 200, "127.0.0.1:5", "the caller", "its hint", "198.51.100.1", "https://shop.example/"},
		{"another agent has not the caller's hints", `{"user_agent":"x","url":"https://shop.example/a"}`, 200, "127.0.0.1:5", "x", "", "198.51.100.1", "https://shop.example/a"},
		{"another peer has not the caller's headers", `{"peer":"192.0.2.1"}`, 200, "192.0.2.1", "the caller", "", "", "https://shop.example/"},
		{"headers of its own", `{"peer":"192.0.2.1","headers":{"x-forwarded-for":"203.0.113.9"}}`, 200, "192.0.2.1", "the caller", "", "203.0.113.9", "https://shop.example/"},
		{"a peer that is no address", `{"peer":"my proxy"}`, 400, "", "", "", "", ""},
	} {
		var judged *http.Request
		var asked DiagnoseQuestion
		a := New(Config{Controller: oneSite{state: s}, Log: slog.New(slog.DiscardHandler), Diagnose: func(r *http.Request, q DiagnoseQuestion) any {
			judged, asked = r, q
			return struct{}{}
		}})
		routes := chi.NewRouter()
		routes.Post("/sites/{site}/diagnose", a.Diagnose)
		r := httptest.NewRequest("POST", "/sites/shop.example/diagnose", strings.NewReader(test.body))
		r.RemoteAddr = "127.0.0.1:5"
		for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "the caller", "Sec-Ch-Ua": "its hint", "X-Forwarded-For": "198.51.100.1"} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("%s: %d %s", test.name, w.Code, w.Body)
			continue
		}
		if test.status != 200 {
			if judged != nil || !strings.Contains(w.Body.String(), `"field":"peer"`) {
				t.Errorf("%s: %s", test.name, w.Body)
			}
			continue
		}
		h := judged.Header
		if judged.RemoteAddr != test.peer || h.Get("User-Agent") != test.agent || h.Get("Sec-Ch-Ua") != test.hint || h.Get("X-Forwarded-For") != test.forwarded ||
			asked.URL != test.page || asked.Site.ID != 1 {
			t.Errorf("%s: peer %s, headers %v, question %+v", test.name, judged.RemoteAddr, h, asked)
		}
		if got := r.Header.Get("Sec-Ch-Ua"); got != "its hint" {
			t.Errorf("%s: the request that asks was changed", test.name)
		}
	}
}
