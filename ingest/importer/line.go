package importer

import "bytes"

// Line is one request of a log. Its bytes are views into the line that was parsed, or into buffers of the parser, until the next call.
type Line struct {
	Client   []byte // address or name of the client; empty when the log does not say
	Host     []byte // virtual host or Host header; empty when the log does not say
	TimeMs   int64  // Unix milliseconds
	Method   []byte // empty when the request is garbage
	Target   []byte // path with query as the client sent it; empty when the request is garbage
	Status   int    // 0 when the log has none
	Referrer []byte
	Agent    []byte
	HasAgent bool // the log has a field for the agent, if empty
}

// Parser parses lines. It keeps buffers, so one goroutine uses it. The zero Parser is ready.
type Parser struct {
	unescaped []byte // room for quoted fields with escapes
}

// Parse reads one line without its end. An error is a *Bad.
func (p *Parser) Parse(line []byte, into *Line) error {
	*into = Line{}
	p.unescaped = p.unescaped[:0]
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 0 {
		return &Bad{Reason: BlankLine}
	}
	if line[0] == '#' {
		return &Bad{Reason: Comment}
	}
	open := bytes.IndexByte(line, '{')
	if at := timeAt(line); at >= 0 && (open < 0 || at < open || line[0] != '{') {
		return p.parseCommon(line, at, into)
	}
	if open >= 0 {
		return p.parseJSON(line[open:], open, into)
	}
	if at := bytes.IndexByte(line, '['); at >= 0 && bytes.Contains(line[at:], []byte("HTTP/")) {
		return bad(BadTime, "no time such as [25/Oct/2025:23:30:26 +0200]")
	}
	return bad(UnknownFormat, "neither combined or common log format nor a JSON object")
}
