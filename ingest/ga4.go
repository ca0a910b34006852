package ingest

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// maxGA4Body is what Google's servers take at once, in bytes.
const maxGA4Body = 130_000

// serveGA4 takes what gtag.js sends. Google answers 204 whatever comes, so what is wrong stands in headers only; but what may come again, is
// answered 503.
func (i *Ingest) serveGA4(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	body, err := i.readBody(w, r, maxGA4Body)
	defer i.putBody(body)
	if err != nil || !utf8.Valid(body.Bytes()) {
		i.answerGA4(w, refusalOfGA4(err))
		return
	}
	c, err := i.newCollect(r, client, sourceGA4)
	if err != nil {
		i.answerGA4(w, refusalOf(err))
		return
	}
	var failed error
	err = dialect.ParseGA4(r.URL.RawQuery, body.Bytes(), func(e dialect.Event) {
		if failed == nil {
			failed = c.takeGA4(w, &e, r.URL.Query().Get("tid"))
		}
	})
	if err != nil {
		failed = &refused{refusalOfBody(err)}
	}
	i.finishGA4(w, c, failed)
}

// serveGA4Server takes what servers send by the Measurement Protocol. With a token of ours as api_secret the visitor is who client_id says,
// else the sender.
func (i *Ingest) serveGA4Server(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	body, err := i.readBody(w, r, maxGA4Body)
	defer i.putBody(body)
	if err != nil || !utf8.Valid(body.Bytes()) {
		i.answerGA4(w, refusalOfGA4(err))
		return
	}
	c, err := i.newCollect(r, client, sourceGA4)
	if err != nil {
		i.answerGA4(w, refusalOf(err))
		return
	}
	query := r.URL.Query()
	c.speaks = i.hasKey(r, query.Get("api_secret"))
	var failed error
	problems := dialect.ParseGA4Server(body.Bytes(), func(e dialect.Event) {
		if failed == nil {
			failed = c.takeGA4(w, &e, firstOf(query.Get("site"), query.Get("measurement_id")))
		}
	})
	if len(problems) > 0 && failed == nil && c.hits == 0 {
		failed = &refused{refusal{http.StatusBadRequest, problems[0].Field, problems[0].Description, reasonInvalid, 0}}
	}
	i.finishGA4(w, c, failed)
}

// takeGA4 takes one event. One that cannot be taken is counted, said in a header, and no error.
func (c *collect) takeGA4(w http.ResponseWriter, e *dialect.Event, named string) error {
	host := pageurl.Parse(e.URL).Host
	site, ok := c.siteNamed(host, named)
	if !ok {
		site, ok = c.siteNamed(pageHost(c.r))
	}
	if !ok {
		c.i.drop(w, unknownSite(firstOf(host, named)).refusal)
		return nil
	}
	if e.URL == "" {
		e.URL = "https://" + site.Name + "/"
	}
	err := c.take(e, site)
	if wrong, ok := err.(*refused); ok {
		c.i.drop(w, wrong.refusal)
		return nil
	}
	return err
}

// finishGA4 waits for the log and answers.
func (i *Ingest) finishGA4(w http.ResponseWriter, c *collect, failed error) {
	gone, err := c.commit(w)
	switch {
	case gone:
		return
	case err != nil:
		i.answerGA4(w, refusalOf(err))
		return
	case failed != nil:
		i.answerGA4(w, refusalOfHit(failed))
		return
	}
	if c.bots > 0 {
		w.Header().Set("X-Weir-Note", "bot")
	}
	w.WriteHeader(http.StatusNoContent)
}

func refusalOfGA4(err error) refusal {
	if err != nil {
		return refusalOfBody(err)
	}
	return refusal{http.StatusBadRequest, "body", "is not valid UTF-8", reasonNotUTF8, 0}
}

// answerGA4 counts a refusal and answers it as Google does, unless the sender should try again.
func (i *Ingest) answerGA4(w http.ResponseWriter, r refusal) {
	i.drop(w, r)
	status := http.StatusNoContent
	if r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests {
		status = r.status
	}
	w.WriteHeader(status)
}

// serveGA4Debug says what is wrong with a request of the Measurement Protocol, and counts nothing.
func (i *Ingest) serveGA4Debug(w http.ResponseWriter, r *http.Request, _ clientip.Client) {
	body, err := i.readBody(w, r, maxGA4Body)
	defer i.putBody(body)
	problems := []dialect.GA4Problem{}
	if err != nil || !utf8.Valid(body.Bytes()) {
		why := refusalOfGA4(err)
		problems = append(problems, dialect.GA4Problem{Field: why.field, Description: why.message, Code: "VALUE_INVALID"})
	} else {
		problems = append(problems, dialect.ParseGA4Server(body.Bytes(), func(dialect.Event) {})...)
	}
	w.Header()["Content-Type"] = textJSON
	if len(problems) == 0 {
		_, _ = w.Write([]byte("{\n  \"validationMessages\": [ ]\n}\n"))
		return
	}
	text := json.NewEncoder(w)
	text.SetIndent("", "  ")
	_ = text.Encode(map[string][]dialect.GA4Problem{"validationMessages": problems})
}
