package importer

import "bytes"

// parseHAProxy reads what follows the time in a line of HAProxy's HTTP log:
//
//	client:port [time] frontend backend/server Tq/Tw/Tc/Tr/Tt status bytes - - ---- n/n/n/n/n n/n [{request headers}] [{response headers}] "request"
//
// ok is false when it is none. Captured headers have no names in the log: they are told apart by what they look like.
func (p *Parser) parseHAProxy(front, rest []byte, into *Line) (ok bool, err error) {
	frontend, rest := word(rest)
	if bytes.IndexByte(frontend, '/') > 0 && bytes.HasSuffix(frontend, []byte(":")) {
		return true, bad(NoRequest, "what HAProxy says of a connection: %s", quote(rest))
	}
	server, rest := word(rest)
	timers, rest := word(rest)
	slashes := bytes.Count(timers, []byte("/"))
	if bytes.IndexByte(server, '/') < 0 || slashes < 2 || !isTimers(timers) {
		return false, nil
	}
	if slashes < 4 {
		return true, bad(NoRequest, "a connection of HAProxy's TCP log, not a request")
	}
	status, rest := word(rest)
	n, isNumber := number(bytes.TrimPrefix(status, []byte("-")))
	if !isNumber || n > 999 {
		return true, bad(BadStatus, "%s", quote(status))
	}
	if status[0] != '-' { // -1: there was no answer
		into.Status = n
	}
	fields := bytes.Fields(front)
	if len(fields) > 0 {
		into.Client = withoutPort(usable(fields[len(fields)-1]))
	}
	if open := bytes.Index(rest, []byte(" {")); open >= 0 {
		if quoteAt := bytes.IndexByte(rest, '"'); quoteAt < 0 || open < quoteAt || bytes.IndexByte(rest[open:], '}') > 0 && quoteAt > open {
			headers := rest[open+2:]
			if end := bytes.Index(headers, []byte("}")); end >= 0 {
				captured(headers[:end], into)
				rest = headers[end+1:]
			}
		}
	}
	open := bytes.IndexByte(rest, '"')
	if open < 0 {
		return true, bad(BadRequest, "%s", quote(rest))
	}
	request := rest[open+1:]
	if end := bytes.LastIndexByte(request, '"'); end >= 0 {
		request = request[:end] // else HAProxy cut a long line
	}
	if !bytes.HasPrefix(request, []byte("<BADREQ>")) {
		splitRequest(p.unescape(request), into)
	}
	return true, nil
}

// isTimers reports whether text is numbers between slashes.
func isTimers(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != '/' && c != '-' && c != '+' {
			return false
		}
	}
	return true
}

// captured takes captured request headers, which stand between bars.
func captured(headers []byte, into *Line) {
	for len(headers) > 0 {
		var value []byte
		value, headers, _ = bytes.Cut(headers, []byte("|"))
		value = bytes.TrimSpace(value)
		switch {
		case len(value) == 0 || len(value) == 1 && value[0] == '-':
		case bytes.HasPrefix(value, []byte("http://")) || bytes.HasPrefix(value, []byte("https://")):
			into.Referrer = value
		case isAddress(withoutPort(value)):
		case bytes.IndexByte(value, '/') > 0 && (value[0]|0x20 >= 'a' && value[0]|0x20 <= 'z'):
			into.Agent, into.HasAgent = value, true
		case bytes.IndexByte(value, ' ') < 0 && bytes.IndexByte(value, '.') > 0:
			into.Host = value
		}
	}
}
