package importer

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// jsonLine collects the fields of one object under whatever names servers give them.
type jsonLine struct {
	line      *Line
	p         *Parser
	haveTime  bool
	timeBad   []byte
	fallback  []byte // an address that counts when there is no better one
	forwarded []byte
	request   []byte // a whole request line
	query     []byte // a query that stands apart from the path
	hadStatus bool
}

// parseJSON reads an object that starts at column of the line.
func (p *Parser) parseJSON(object []byte, column int, into *Line) error {
	j := jsonLine{line: into, p: p}
	_, err := jsonscan.Object(object, j.member)
	if err != nil {
		var syntax *jsonscan.SyntaxError
		if errors.As(err, &syntax) && errors.Is(err, jsonscan.ErrCut) {
			return bad(BadJSON, "the object does not end on this line; there must be one object a line")
		}
		return bad(BadJSON, "%v", err)
	}
	return j.finish()
}

// member takes one member of the object.
func (j *jsonLine) member(key []byte, v jsonscan.Value) error {
	l := j.line
	switch string(key) {
	case "remote_addr", "client_ip", "clientip", "ClientIP", "ClientHost", "c-ip", "client":
		j.set(&l.Client, v)
	case "remote_ip", "remoteip", "ip", "ClientAddr", "downstream_remote_address", "remote_host":
		j.set(&j.fallback, v)
	case "http_x_forwarded_for", "x_forwarded_for", "x-forwarded-for":
		j.set(&j.forwarded, v)
	case "host", "http_host", "server_name", "vhost", "RequestHost", "ClientRequestHost", ":authority", "authority":
		j.set(&l.Host, v)
	case "request_method", "method", "RequestMethod", "ClientRequestMethod", "verb":
		j.set(&l.Method, v)
	case "request_uri", "uri", "RequestPath", "ClientRequestURI", "path", "url":
		j.set(&l.Target, v)
	case "args", "query_string":
		j.set(&j.query, v)
	case "request":
		if v.Kind == jsonscan.KindObject { // Caddy
			_, err := jsonscan.Object(v.Raw, j.member)
			return err
		}
		j.set(&j.request, v)
	case "headers":
		if v.Kind == jsonscan.KindObject {
			_, err := jsonscan.Object(v.Raw, j.header)
			return err
		}
	case "status", "DownstreamStatus", "EdgeResponseStatus", "response_code", "response", "code":
		if n, ok := v.Int(); ok && n >= 0 && n <= 999 {
			l.Status, j.hadStatus = int(n), true
		}
	case "http_referer", "http_referrer", "referer", "referrer", "request_Referer", "ClientRequestReferer":
		j.set(&l.Referrer, v)
	case "http_user_agent", "user_agent", "agent", "userAgent", "request_User-Agent", "ClientRequestUserAgent":
		l.HasAgent = true
		j.set(&l.Agent, v)
	case "msec", "time_iso8601", "time_local", "ts", "time", "@timestamp", "timestamp", "StartUTC", "StartLocal", "start_time", "EdgeStartTimestamp", "date":
		j.setTime(v)
	}
	return nil
}

// header takes a header of Caddy's: a list of values.
func (j *jsonLine) header(key []byte, v jsonscan.Value) error {
	var field *[]byte
	switch string(key) {
	case "User-Agent":
		j.line.HasAgent = true
		field = &j.line.Agent
	case "Referer":
		field = &j.line.Referrer
	default:
		return nil
	}
	if v.Kind != jsonscan.KindArray {
		j.set(field, v)
		return nil
	}
	_, err := jsonscan.Array(v.Raw, func(v jsonscan.Value) error {
		j.set(field, v)
		return nil
	})
	return err
}

func (j *jsonLine) set(field *[]byte, v jsonscan.Value) {
	if v.Kind == jsonscan.KindString && len(v.Raw) > 0 && len(*field) == 0 {
		*field = usable(v.Bytes())
	}
}

// setTime takes the first time that can be read.
func (j *jsonLine) setTime(v jsonscan.Value) {
	if j.haveTime {
		return
	}
	ms, err := dialect.ParseTime(v)
	if err != nil {
		var ok bool
		if ms, ok = parseCLFTime(v.Bytes()); !ok {
			j.timeBad = v.Bytes()
			return
		}
	}
	j.line.TimeMs, j.haveTime = ms, true
}

// finish checks that the object is of a request and puts its parts together.
func (j *jsonLine) finish() error {
	l := j.line
	if len(j.request) > 0 && len(l.Target) == 0 {
		splitRequest(j.request, l)
	}
	if !j.hadStatus || len(l.Target) == 0 && len(l.Method) == 0 && len(j.request) == 0 {
		return bad(NoAccess, "no request and status in it")
	}
	if !j.haveTime {
		if j.timeBad != nil {
			return bad(BadTime, "%s", quote(j.timeBad))
		}
		return bad(BadTime, "no time in the object")
	}
	if len(l.Client) == 0 {
		l.Client = j.fallback
	}
	if len(j.forwarded) > 0 {
		first, _, _ := bytes.Cut(j.forwarded, []byte(","))
		if first = bytes.TrimSpace(first); isAddress(first) {
			l.Client = first
		}
	}
	if first, _, ok := bytes.Cut(l.Client, []byte(",")); ok {
		l.Client = bytes.TrimSpace(first)
	}
	if len(j.query) > 0 && bytes.IndexByte(l.Target, '?') < 0 {
		start := len(j.p.unescaped)
		j.p.unescaped = append(append(append(j.p.unescaped, l.Target...), '?'), j.query...)
		l.Target = j.p.unescaped[start:]
	}
	return nil
}

// quote shows a piece of a line in a report: short, and printable.
func quote(b []byte) string {
	const most = 80
	if len(b) > most {
		b = b[:most]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
	}
	return strconv.QuoteToGraphic(string(b))
}
