package importer

import (
	"bytes"
	"net/netip"
)

// parseCommon reads a line of common or combined log format, whose time stands at the bracket with index at:
//
//	[vhost[:port] ]client[, client] ident user [time] "request" status size[ ...][ "referrer"[ "agent"[ ...]]]
//
// ident and user may be missing. A line as a whole may stand in quotes.
func (p *Parser) parseCommon(line []byte, at int, into *Line) error {
	p.parseFront(line[:at], into)
	end := bytes.IndexByte(line[at:], ']')
	if end < 0 {
		return bad(CutOff, "in the time")
	}
	ms, ok := parseCLFTime(line[at+1 : at+end])
	if !ok {
		return bad(BadTime, "%s", quote(line[at:at+end+1]))
	}
	into.TimeMs = ms
	into.Local = bytes.IndexByte(line[at:at+end], ' ') < 0 && bytes.LastIndexAny(line[at:at+end], "+-") < 0
	rest := bytes.TrimLeft(line[at+end+1:], " \t")
	if len(rest) == 0 || rest[0] != '"' {
		return p.parseOther(line[:at], rest, into)
	}
	request, rest, ok := cutRequest(rest[1:])
	if !ok {
		return bad(CutOff, "in the request")
	}
	splitRequest(p.unescape(request), into)
	rest, ok = parseStatus(rest, into)
	if !ok {
		return bad(BadStatus, "%s", quote(rest))
	}
	err := p.parseQuoted(rest, into)
	into.Format = "common"
	if into.HasAgent {
		into.Format = "combined"
	}
	return err
}

// parseOther reads lines of other formats that have such a time too. front stands before it, rest behind.
func (p *Parser) parseOther(front, rest []byte, into *Line) error {
	into.Client, into.Host = nil, nil
	if ok, err := p.parseHAProxy(front, rest, into); ok {
		into.Format = "HAProxy"
		return err
	}
	if ok, err := p.parseS3(front, rest, into); ok {
		into.Format = "Amazon S3"
		return err
	}
	if ok, err := p.parseProxyManager(rest, into); ok {
		into.Format = "Nginx Proxy Manager"
		return err
	}
	return bad(BadRequest, "%s", quote(rest))
}

// parseFront reads what stands before the time.
func (p *Parser) parseFront(front []byte, into *Line) {
	front = bytes.TrimLeft(front, " \t\"")
	first, rest := word(front)
	if bytes.HasSuffix(first, []byte(",")) {
		// A list of forwarded addresses: the first one is the visitor.
		into.Client = usable(bytes.TrimRight(first, ","))
		return
	}
	second, _ := word(rest)
	if !isAddress(first) && isAddress(bytes.TrimRight(second, ",")) {
		into.Host, into.Client = first, bytes.TrimRight(second, ",")
		return
	}
	into.Client = usable(first)
}

// usable returns nothing for the dash that stands for nothing.
func usable(field []byte) []byte {
	if len(field) == 1 && field[0] == '-' {
		return nil
	}
	return field
}

func word(b []byte) (first, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	if end := bytes.IndexByte(b, ' '); end >= 0 {
		return b[:end], b[end+1:]
	}
	return b, nil
}

func isAddress(b []byte) bool {
	if len(b) < 2 || len(b) > 45 || b[0] != ':' && (b[0] < '0' || b[0] > '9') && (b[0]|0x20 < 'a' || b[0]|0x20 > 'f') {
		return false
	}
	_, err := netip.ParseAddr(string(b))
	return err == nil
}

// cutRequest returns the request up to its closing quote: the first quote that no backslash stands before and that a status follows. Servers
// that do not escape quotes within a request are read this way too.
func cutRequest(b []byte) (request, rest []byte, ok bool) {
	first := -1
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			if first < 0 {
				first = i
			}
			if statusFollows(b[i+1:]) {
				return b[:i], b[i+1:], true
			}
		}
	}
	if first < 0 {
		return nil, nil, false
	}
	return b[:first], b[first+1:], true
}

func statusFollows(b []byte) bool {
	if len(b) < 2 || b[0] != ' ' {
		return false
	}
	if b[1] == '-' {
		return len(b) == 2 || b[2] == ' '
	}
	_, ok := number(b[1:min(4, len(b))])
	return ok && len(b) >= 4 && (len(b) == 4 || b[4] == ' ')
}

// splitRequest takes "GET /path HTTP/1.1" apart. A request without a protocol is one of HTTP/0.9. What is no request leaves the line
// without method and target.
func splitRequest(request []byte, into *Line) {
	space := bytes.IndexByte(request, ' ')
	if space <= 0 || space > 20 || !isMethod(request[:space]) {
		return
	}
	target := bytes.TrimSpace(request[space+1:])
	if last := bytes.LastIndexByte(target, ' '); last >= 0 && bytes.HasPrefix(target[last+1:], []byte("HTTP/")) {
		target = bytes.TrimRight(target[:last], " ")
	}
	if len(target) > 0 && !bytes.HasPrefix(target, []byte("HTTP/")) {
		into.Method, into.Target = request[:space], target
	}
}

func isMethod(b []byte) bool {
	for _, c := range b {
		if (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// parseStatus reads the status, a number or a dash.
func parseStatus(rest []byte, into *Line) (after []byte, ok bool) {
	status, after := word(rest)
	if len(status) == 1 && status[0] == '-' {
		return after, true
	}
	n, ok := number(status)
	if !ok || n > 999 {
		return rest, false
	}
	into.Status = n
	return after, true
}

// parseQuoted reads the quoted fields behind status and size: referrer and agent. Others behind them are left out.
func (p *Parser) parseQuoted(rest []byte, into *Line) error {
	for field := 0; field < 2; field++ {
		open := bytes.IndexByte(rest, '"')
		if open < 0 {
			return nil
		}
		value, after, ok := cutQuoted(rest[open+1:])
		if !ok {
			if len(bytes.Trim(rest[open+1:], "\" ")) == 0 {
				return nil // the quote that closes a line in quotes
			}
			value, after = rest[open+1:], nil // written by a server that was stopped, or cut by a tool: the rest of the line is good
		}
		rest = after
		value = usable(p.unescape(value))
		if field == 0 {
			into.Referrer = value
		} else {
			into.Agent, into.HasAgent = value, true
		}
	}
	return nil
}

// cutQuoted returns a field up to its closing quote: one that no backslash stands before, with a blank, another quote or the end behind it.
func cutQuoted(b []byte) (value, rest []byte, ok bool) {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			if i+1 == len(b) || b[i+1] == ' ' || b[i+1] == '"' || b[i+1] == '\t' || b[i+1] == ',' {
				return b[:i], b[i+1:], true
			}
		}
	}
	return nil, nil, false
}

// unescape decodes \" \\ and \xNN of Apache and nginx. Fields without a backslash are returned as they are.
func (p *Parser) unescape(field []byte) []byte {
	if bytes.IndexByte(field, '\\') < 0 {
		return field
	}
	start := len(p.unescaped)
	for i := 0; i < len(field); i++ {
		c := field[i]
		if c != '\\' || i+1 >= len(field) {
			p.unescaped = append(p.unescaped, c)
			continue
		}
		i++
		switch c = field[i]; {
		case c == 'x' && i+2 < len(field) && isHex(field[i+1]) && isHex(field[i+2]):
			p.unescaped = append(p.unescaped, unhex(field[i+1])<<4|unhex(field[i+2]))
			i += 2
		case c == '"' || c == '\\':
			p.unescaped = append(p.unescaped, c)
		case c == 'n' || c == 't' || c == 'r' || c == 'v' || c == 'b':
			p.unescaped = append(p.unescaped, ' ')
		default:
			p.unescaped = append(p.unescaped, '\\', c)
		}
	}
	return p.unescaped[start:len(p.unescaped):len(p.unescaped)]
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
