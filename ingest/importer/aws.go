package importer

import (
	"bytes"

	"github.com/weir-analytics/weir/ingest/dialect"
)

// balancerTypes are what lines of an application load balancer begin with.
var balancerTypes = map[string]bool{"http": true, "https": true, "h2": true, "grpcs": true, "ws": true, "wss": true}

// isInstant reports whether text is a moment such as 2018-07-02T22:23:00.186641Z.
func isInstant(b []byte) bool {
	return len(b) >= 20 && len(b) <= 35 && b[10] == 'T' && b[len(b)-1] == 'Z' && isDay(b[:10])
}

// parseBalancer reads a line of Amazon's load balancers:
//
//	[type] time elb client:port target:port t t t elb_status target_status received sent "request" "agent" cipher protocol [group "trace" "domain" ...]
//
// ok is false when it is none.
func (p *Parser) parseBalancer(line []byte, into *Line) (ok bool, err error) {
	first, rest := word(line)
	classic := isInstant(first)
	if balancerTypes[string(first)] {
		first, rest = word(rest)
	} else if !classic {
		return false, nil
	}
	if !isInstant(first) {
		return false, nil
	}
	ms, timeErr := dialect.ParseTimeText(first)
	if timeErr != nil {
		return true, bad(BadTime, "%s", quote(first))
	}
	into.TimeMs = ms
	var fields [10][]byte // elb client target t t t status status received sent
	for i := range fields {
		fields[i], rest = word(rest)
	}
	if len(fields[9]) == 0 {
		if classic {
			return false, nil
		}
		return true, bad(CutOff, "before the request")
	}
	into.Client = withoutPort(usable(fields[1]))
	if status := usable(fields[6]); status != nil {
		n, isNumber := number(status)
		if !isNumber || n > 999 {
			return true, bad(BadStatus, "%s", quote(status))
		}
		into.Status = n
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return true, bad(BadRequest, "%s", quote(rest))
	}
	request, rest, closed := cutQuoted(rest[1:])
	if !closed {
		return true, bad(CutOff, "in the request")
	}
	if !bytes.HasPrefix(request, []byte("- ")) {
		splitRequest(p.unescape(request), into)
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) > 0 && rest[0] == '"' {
		agent, _, closed := cutQuoted(rest[1:])
		if !closed {
			agent = rest[1:]
		}
		into.Agent, into.HasAgent = usable(p.unescape(agent)), true
	}
	return true, nil
}

// withoutPort cuts the port from "192.0.2.1:4711", "[2001:db8::1]:4711" or "2001:db8::1:4711".
func withoutPort(b []byte) []byte {
	if len(b) > 0 && b[0] == '[' {
		if end := bytes.IndexByte(b, ']'); end > 0 {
			return b[1:end]
		}
	}
	if colon := bytes.LastIndexByte(b, ':'); colon > 0 && isAddress(b[:colon]) {
		return b[:colon]
	}
	return b
}

// parseS3 reads what follows the time in a line of Amazon S3:
//
//	owner bucket [time] client requester id operation key "request" status error bytes size total turnaround "referrer" "agent" version ...
//
// ok is false when it is none.
func (p *Parser) parseS3(front, rest []byte, into *Line) (ok bool, err error) {
	var fields [5][]byte // client requester id operation key
	for i := range fields {
		fields[i], rest = word(rest)
	}
	operation := fields[3]
	if !bytes.HasPrefix(operation, []byte("REST.")) && !bytes.HasPrefix(operation, []byte("WEBSITE.")) && !bytes.HasPrefix(operation, []byte("SOAP.")) &&
		!bytes.HasPrefix(operation, []byte("BATCH.")) && !bytes.HasPrefix(operation, []byte("S3.")) {
		return false, nil
	}
	if rest = bytes.TrimLeft(rest, " "); !bytes.HasPrefix(rest, []byte(`"`)) {
		return true, bad(NoRequest, "S3's own work, not a request")
	}
	request, rest, closed := cutRequest(rest[1:])
	if !closed {
		return true, bad(CutOff, "in the request")
	}
	into.Client = usable(fields[0])
	splitRequest(p.unescape(request), into)
	rest, closed = parseStatus(rest, into)
	if !closed {
		return true, bad(BadStatus, "%s", quote(rest))
	}
	_, bucket := word(front)
	into.Host, _ = word(bucket)
	return true, p.parseQuoted(rest, into)
}
