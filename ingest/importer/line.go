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
	HasAgent bool    // the log has a field for the agent, if empty
	Format   string  // name of the format, for reports
	Export   *Export // what an export says beside; nil: the line is of a log
	Local    bool    // TimeMs is a time of day whose zone the log does not tell, taken for UTC
}

// Parser parses the lines of one log, in order. It keeps buffers, and what the log's header says, so one goroutine uses it. The zero
// Parser is ready.
type Parser struct {
	unescaped []byte     // room for quoted fields with escapes
	tokens    [][]byte   // room for the fields of a line
	fields    []w3cField // of the lines that follow; nil when no header said so
	day       string     // of the lines that follow, where they do not say

	fieldsLine string // that said fields

	table  *table // what the first line says of the rows below it; nil when it is no header of an export
	export Export // of the last line
	begun  bool   // the first line that is neither blank nor a comment was read
}

// Parse reads one line without its end. An error is a *Bad.
func (p *Parser) Parse(line []byte, into *Line) error {
	*into = Line{}
	p.unescaped = p.unescaped[:0]
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 0 {
		return &Bad{Reason: BlankLine}
	}
	if p.table != nil {
		return p.parseRow(line, into)
	}
	if !p.begun && line[0] != '#' {
		p.begun = true
		if p.table = tableOf(line); p.table != nil {
			return &Bad{Reason: Header}
		}
	}
	if line[0] == '#' {
		p.directive(line)
		return &Bad{Reason: Comment}
	}
	if looksW3C(line) || p.fields != nil && line[0] != '{' && timeAt(line) < 0 {
		into.Format = "W3C extended"
		return p.parseW3C(line, into)
	}
	if ok, err := p.parseBalancer(line, into); ok {
		into.Format = "Amazon load balancer"
		return err
	}
	open := bytes.IndexByte(line, '{')
	if at := timeAt(line); at >= 0 && (open < 0 || at < open || line[0] != '{') {
		return p.parseCommon(line, at, into)
	}
	if ok, err := p.parseEnvoy(line, into); ok {
		into.Format = "Envoy"
		return err
	}
	if open == 0 && looksGA4(line) {
		into.Format = "GA4 export"
		return p.parseGA4(line, into)
	}
	if open >= 0 {
		into.Format = "JSON"
		return p.parseJSON(line[open:], open, into)
	}
	if ok, err := p.parseZoraxy(line, into); ok {
		into.Format = "Zoraxy"
		return err
	}
	if at := bytes.IndexByte(line, '['); at >= 0 && bytes.Contains(line[at:], []byte("HTTP/")) {
		return bad(BadTime, "no time such as [25/Oct/2025:23:30:26 +0200]")
	}
	return bad(UnknownFormat, "none of the formats that are known, see the documentation of imported logs")
}
