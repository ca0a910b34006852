package ingest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// maxUmamiBatch bounds the messages of one batch.
const maxUmamiBatch = 10_000

// umamiTaken is the answer to a message that was taken. Trackers send Cache back and expect nothing of it.
type umamiTaken struct {
	Cache     string `json:"cache"`
	SessionID string `json:"sessionId"`
	VisitID   string `json:"visitId"`
}

// umamiBot is what Umami answers a robot.
type umamiBot struct {
	Beep string `json:"beep"`
}

// umamiError is the answer to a message that was not taken.
type umamiError struct {
	Error umamiProblem `json:"error"`
}

type umamiProblem struct {
	Message string   `json:"message"`
	Code    string   `json:"code"`
	Status  int      `json:"status"`
	Errors  []string `json:"errors,omitempty"`
}

// umamiBatch is the answer to a batch.
type umamiBatch struct {
	Size      int           `json:"size"`
	Processed int           `json:"processed"`
	Errors    int           `json:"errors"`
	Details   []umamiDetail `json:"details"`
	Cache     string        `json:"cache,omitempty"`
}

type umamiDetail struct {
	Index    int        `json:"index"`
	Response umamiError `json:"response"`
}

// serveUmami takes one message of Umami's tracker.
func (i *Ingest) serveUmami(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	body, refusal, ok := i.readJSON(w, r, i.cfg.EventBytes)
	defer i.putBody(body)
	if !ok {
		i.refuseUmami(w, refusal)
		return
	}
	c, err := i.newCollect(r, client, sourceUmami)
	if err != nil {
		i.refuseUmami(w, refusalOf(err))
		return
	}
	c.speaks = i.hasKey(r, "")
	site, err := c.takeUmami(body.Bytes())
	if err != nil {
		c.flush()
		i.refuseUmami(w, refusalOfHit(err))
		return
	}
	gone, err := c.commit(w)
	switch {
	case gone:
	case err != nil:
		i.refuseUmami(w, refusalOf(err))
	case c.bots > 0:
		w.Header().Set("X-Weir-Note", "bot")
		writeBareJSON(w, http.StatusOK, umamiBot{"boop"})
	default:
		writeBareJSON(w, http.StatusOK, c.umamiSession(site))
	}
}

// takeUmami takes one message, and returns the site that it is for.
func (c *collect) takeUmami(message []byte) (state.Site, error) {
	u, err := dialect.ParseUmami(message)
	if err != nil {
		return state.Site{}, &refused{refusalOfBody(err)}
	}
	e := &u.Event
	site, ok := c.siteNamed(u.Website, pageurl.Host(u.Host), pageurl.Parse(e.URL).Host)
	if !ok {
		return site, unknownSite(firstOf(pageurl.Host(u.Host), u.Website))
	}
	if u.Type == dialect.UmamiIdentify {
		c.i.lost(site.ID, reasonNoHit, 1) // who somebody is was told: nothing to count, and nothing that is kept here
		return site, nil
	}
	return site, c.take(e, site)
}

// umamiSession makes the answer's identifiers up. They are the same as long as the visitor is, as Umami's are, and tell nothing: they are made
// one way from the visitor's own.
func (c *collect) umamiSession(site state.Site) umamiTaken {
	var seed [20]byte
	binary.LittleEndian.PutUint32(seed[:4], site.ID)
	binary.LittleEndian.PutUint64(seed[4:12], c.lastVisitor)
	sum := sha256.Sum256(append([]byte("umami session "), seed[:12]...))
	session := uuidOf(sum)
	binary.LittleEndian.PutUint64(seed[12:], uint64(c.receivedMs/3600_000))
	sum = sha256.Sum256(append([]byte("umami visit "), seed[:]...))
	visit := uuidOf(sum)
	return umamiTaken{base64.RawURLEncoding.EncodeToString(append(session[:], visit[:]...)), session.String(), visit.String()}
}

// uuidOf makes a UUID of a hash, of the version for that.
func uuidOf(sum [32]byte) (id uuid.UUID) {
	copy(id[:], sum[:16])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// refuseUmami answers in Umami's words.
func (i *Ingest) refuseUmami(w http.ResponseWriter, r refusal) {
	i.drop(w, r)
	writeBareJSON(w, r.status, umamiErrorOf(r))
}

func umamiErrorOf(r refusal) umamiError {
	p := umamiProblem{Message: "Bad request", Code: "bad-request", Status: r.status, Errors: []string{r.field + ": " + r.message}}
	switch {
	case r.reason == reasonUnknownSite:
		p.Message, p.Errors = "Website not found.", []string{r.message}
	case r.status == http.StatusRequestEntityTooLarge:
		p.Message, p.Code = "Payload too large", "payload-too-large"
	case r.status == http.StatusTooManyRequests:
		p.Message, p.Code = "Too many requests", "too-many-requests"
	case r.status >= 500:
		p.Message, p.Code = r.field+" "+r.message, "server-error"
		p.Errors = nil
	}
	return umamiError{p}
}

// serveUmamiBatch takes messages of Umami's, and events in our own shape with a time, in one array. One that is wrong does not lose the others.
func (i *Ingest) serveUmamiBatch(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	body, refusal, ok := i.readJSON(w, r, i.cfg.ClicksBytes)
	defer i.putBody(body)
	if !ok {
		i.refuseUmami(w, refusal)
		return
	}
	c, err := i.newCollect(r, client, sourceUmami)
	if err != nil {
		i.refuseUmami(w, refusalOf(err))
		return
	}
	c.speaks = i.hasKey(r, "")
	answer := umamiBatch{Details: []umamiDetail{}}
	var site state.Site
	rest, err := jsonscan.Array(body.Bytes(), func(v jsonscan.Value) error {
		at := answer.Size
		answer.Size++
		one, err := c.takeOfBatch(v, at)
		var wrong *refused
		switch {
		case errors.As(err, &wrong):
			i.lostRefused(&wrong.refusal)
			answer.Errors++
			answer.Details = append(answer.Details, umamiDetail{at, umamiErrorOf(wrong.refusal)})
		case err != nil:
			return err
		default:
			site = one
		}
		return nil
	})
	if err == nil && !jsonscan.Blank(rest) {
		err = &refused{refusalOfBody(&dialect.FieldError{Field: "body", Message: "holds something behind the array"})}
	}
	if err == nil {
		var gone bool
		if gone, err = c.commit(w); gone {
			return
		}
	} else {
		c.flush()
	}
	if err != nil {
		i.refuseUmami(w, refusalOfBatch(err))
		return
	}
	answer.Processed = answer.Size - answer.Errors
	if c.hits > c.bots {
		answer.Cache = c.umamiSession(site).Cache
	}
	writeBareJSON(w, http.StatusOK, answer)
}

// takeOfBatch takes one element of a batch.
func (c *collect) takeOfBatch(v jsonscan.Value, at int) (state.Site, error) {
	switch {
	case v.Kind != jsonscan.KindObject:
		return state.Site{}, &refused{refusal{http.StatusBadRequest, "message", "must be an object", reasonInvalid, 0}}
	case at >= maxUmamiBatch:
		return state.Site{}, &refused{refusal{http.StatusBadRequest, "message", "is one too many: send at most 10000 at once", reasonTooLarge, 0}}
	case isOwnEvent(v):
		return c.takeOwn(v.Raw)
	}
	return c.takeUmami(v.Raw)
}

// isOwnEvent reports whether an element is an event in our own shape: Umami's has a payload, ours the address of a page.
func isOwnEvent(v jsonscan.Value) (own bool) {
	_, _ = jsonscan.Object(v.Raw, func(key []byte, _ jsonscan.Value) error {
		switch string(key) {
		case "u", "url", "n", "d", "domain":
			own = true
		case "payload", "type":
			own = false
			return errStop
		}
		return nil
	})
	return own
}

var errStop = errors.New("stop")

// takeOwn takes one event in our own shape. It may have a time, ts, which is taken from senders with a key.
func (c *collect) takeOwn(raw []byte) (state.Site, error) {
	e, err := dialect.ParseTimedEvent(raw)
	if err != nil {
		return state.Site{}, &refused{refusalOfBody(err)}
	}
	if e.Said != nil && !c.speaks {
		return state.Site{}, &refused{refusal{http.StatusUnauthorized, "ts", "is taken with a token only; this " + tokenAdvice, reasonUnauthorized, 0}}
	}
	host := pageurl.Parse(e.URL).Host
	site, ok := c.siteNamed(firstName(e.Domain, host))
	if !ok {
		return site, unknownSite(firstName(e.Domain, host))
	}
	return site, c.take(&e, site)
}

// serveUmamiPixel takes a page view from a picture in Umami's shape: the page is where the picture is.
func (i *Ingest) serveUmamiPixel(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	i.serveOne(w, r, client, sourceUmami, dialect.GIF, func(c *collect) (dialect.Event, state.Site, error) {
		e := dialect.Event{Name: dialect.NamePageview, URL: r.Referer(), ScrollPercent: -1, EngagedMs: -1}
		site, ok := c.siteAround()
		if !ok {
			return e, site, unknownSite(pageHost(r))
		}
		if e.URL == "" {
			e.Kind, e.Name, e.URL = hit.Event, "Pixel "+pageurl.Cut(r.URL.Path[len(pathSlug):], 100), "https://"+site.Name+"/"
		}
		return e, site, nil
	})
}

// readJSON reads a body that must be JSON text.
func (i *Ingest) readJSON(w http.ResponseWriter, r *http.Request, limit int64) (body *requestBody, why refusal, ok bool) {
	body, err := i.readBody(w, r, limit)
	if err != nil {
		return body, refusalOfBody(err), false
	}
	data := body.Bytes()
	if !takesJSON(r.Header.Get("Content-Type"), func() byte { return firstByte(data) }) {
		return body, refusal{http.StatusUnsupportedMediaType, "content-type", contentTypeAdvice, reasonContentType, 0}, false
	}
	if !utf8.Valid(data) {
		return body, refusalNotUTF8(invalidAt(data)), false
	}
	return body, refusal{}, true
}

// writeBareJSON answers with JSON as other servers write it: no blank at the end.
func writeBareJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("BUG: answer is not JSON: " + err.Error())
	}
	w.Header()["Content-Type"] = bareJSON
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
