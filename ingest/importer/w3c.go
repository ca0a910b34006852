package importer

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/dialect"
)

// w3cField is a field of a W3C extended log that matters here.
type w3cField uint8

const (
	w3cOther w3cField = iota
	w3cDate
	w3cTime
	w3cClient
	w3cMethod
	w3cStem
	w3cQuery
	w3cURI
	w3cStatus
	w3cAgent
	w3cReferrer
	w3cHost
	w3cViewerHost // as the browser asked for it: goes before w3cHost
)

var w3cNames = map[string]w3cField{
	"date": w3cDate, "time": w3cTime, "c-ip": w3cClient, "cs-method": w3cMethod, "cs-uri-stem": w3cStem, "cs-uri-query": w3cQuery, "cs-uri": w3cURI,
	"sc-status": w3cStatus, "cs(user-agent)": w3cAgent, "cs(referer)": w3cReferrer, "cs(referrer)": w3cReferrer, "cs-host": w3cHost, "cs(host)": w3cHost,
	"x-host-header": w3cViewerHost,
}

// Fields of logs without a header, told apart by their number: what IIS writes by default, with or without referrer, and with everything
// switched on; and what CloudFront writes, which is the only one with tabs.
var (
	iis14      = w3cFields("date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status sc-substatus sc-win32-status time-taken")
	iis15      = w3cFields("date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken")
	iisAll     = w3cFields("date time s-sitename s-computername s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs-version cs(User-Agent) cs(Cookie) cs(Referer) cs-host sc-status sc-substatus sc-win32-status sc-bytes cs-bytes time-taken")
	cloudFront = w3cFields("date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header")
)

func w3cFields(list string) []w3cField {
	var fields []w3cField
	for name := range strings.FieldsSeq(list) {
		fields = append(fields, w3cNames[strings.ToLower(name)])
	}
	return fields
}

// directive reads a line of a W3C header: which fields follow, and of which day they are where the lines do not say.
func (p *Parser) directive(line []byte) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return
	}
	switch strings.ToLower(string(name)) {
	case "#fields":
		fields := w3cFields(string(value))
		known := 0
		for _, f := range fields {
			if f != w3cOther {
				known++
			}
		}
		if known >= 3 { // else a comment of some other kind
			p.fields = fields
			p.fieldsLine = ""
			if len(line) <= maxHeader {
				p.fieldsLine = string(line)
			}
		}
	case "#date":
		if day := bytes.TrimSpace(value); len(day) >= 10 && isDay(day[:10]) {
			p.day = string(day[:10])
		}
	}
}

// maxHeader bounds a header line that Header gives out, in bytes; the longest #Fields of IIS has about 400.
const maxHeader = 4 << 10

// Header returns lines that bring a fresh Parser to what the header of the log said so far.
func (p *Parser) Header() (lines []string) {
	if p.fieldsLine != "" {
		lines = append(lines, p.fieldsLine)
	}
	if p.day != "" {
		lines = append(lines, "#Date: "+p.day)
	}
	return lines
}

// isDay reports whether text is a day such as 2013-07-28.
func isDay(b []byte) bool {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return false
	}
	_, ok1 := number(b[:4])
	_, ok2 := number(b[5:7])
	_, ok3 := number(b[8:])
	return ok1 && ok2 && ok3
}

// looksW3C reports whether a line begins with a day and a time, as lines of IIS and CloudFront do.
func looksW3C(line []byte) bool {
	line = bytes.TrimLeft(line, `"`)
	return len(line) > 19 && isDay(line[:10]) && (line[10] == ' ' || line[10] == '\t' || line[10] == '"')
}

// parseW3C reads a line by the fields of the header, or by their number. Times are UTC: the standard says so, and IIS keeps to it.
func (p *Parser) parseW3C(line []byte, into *Line) error {
	p.tokens = splitW3C(line, p.tokens[:0])
	fields := p.fields
	tabs := bytes.IndexByte(line, '\t') >= 0
	if fields == nil {
		switch n := len(p.tokens); {
		case tabs && n >= len(cloudFront):
			fields = cloudFront
		case n == len(iis14):
			fields = iis14
		case n == len(iis15):
			fields = iis15
		case n == len(iisAll):
			fields = iisAll
		default:
			return bad(UnknownFormat, "a W3C line of %d fields without a #Fields line before it", n)
		}
	}
	if len(p.tokens) < len(fields) {
		return bad(CutOff, "%d fields, want %d", len(p.tokens), len(fields))
	}
	l := w3cLine{line: into, day: []byte(p.day)}
	for i, field := range fields {
		l.take(field, p.tokens[i], p)
	}
	if p.fields == nil && (!isAddress(into.Client) || len(l.status) == 0) { // fields that were guessed by their number
		return bad(UnknownFormat, "it begins like a W3C line, and has no address and status where IIS or CloudFront write them")
	}
	return l.finish(p)
}

// splitW3C takes a line apart at blanks or tabs. Fields may stand in quotes.
func splitW3C(line []byte, tokens [][]byte) [][]byte {
	separator := byte(' ')
	if bytes.IndexByte(line, '\t') >= 0 {
		separator = '\t'
	}
	for len(line) > 0 {
		if line[0] == '"' {
			if end := closingQuote(line[1:], separator); end >= 0 {
				tokens = append(tokens, line[1:1+end])
				line = bytes.TrimLeft(line[end+2:], string(separator))
				continue
			}
		}
		token := line
		if end := bytes.IndexByte(line, separator); end >= 0 {
			token, line = line[:end], line[end+1:]
		} else {
			line = nil
		}
		if len(token) > 0 || separator == '\t' {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// closingQuote returns the index of the quote that ends a field, -1 when there is none.
func closingQuote(b []byte, separator byte) int {
	for i, c := range b {
		if c == '"' && (i+1 == len(b) || b[i+1] == separator) {
			return i
		}
	}
	return -1
}

// w3cLine collects the fields of one line.
type w3cLine struct {
	line                *Line
	day, clock          []byte
	stem, query, status []byte
	viewerHost          []byte
}

func (l *w3cLine) take(field w3cField, value []byte, p *Parser) {
	value = usable(value)
	switch field {
	case w3cDate:
		l.day = value
	case w3cTime:
		l.clock = value
	case w3cClient:
		l.line.Client = value
	case w3cMethod:
		l.line.Method = value
	case w3cStem:
		l.stem = value
	case w3cURI:
		l.setURI(value)
	case w3cQuery:
		l.query = value
	case w3cStatus:
		l.status = value
	case w3cAgent:
		l.line.Agent, l.line.HasAgent = p.decodeW3C(value, true), true
	case w3cReferrer:
		l.line.Referrer = p.decodeW3C(value, false)
	case w3cHost:
		l.line.Host = value
	case w3cViewerHost:
		l.viewerHost = value
	}
}

// setURI takes an address that may begin with the host, without a scheme.
func (l *w3cLine) setURI(value []byte) {
	slash := bytes.IndexByte(value, '/')
	if slash > 0 && !bytes.Contains(value, []byte("://")) {
		l.line.Host, value = value[:slash], value[slash:]
	}
	if len(l.stem) == 0 {
		l.stem = value
	}
}

func (l *w3cLine) finish(p *Parser) error {
	into := l.line
	if len(l.viewerHost) > 0 {
		into.Host = l.viewerHost
	}
	start := len(p.unescaped)
	p.unescaped = append(append(append(p.unescaped, l.day...), ' '), l.clock...)
	ms, err := dialect.ParseTimeText(p.unescaped[start:])
	if err != nil || len(l.clock) < 5 || len(l.day) < 10 {
		return bad(BadTime, "%s", quote(p.unescaped[start:]))
	}
	into.TimeMs = ms
	if len(l.status) > 0 {
		n, err := strconv.Atoi(string(l.status))
		if err != nil || n < 0 || n > 999 {
			return bad(BadStatus, "%s", quote(l.status))
		}
		into.Status = n
	}
	if !isMethod(into.Method) {
		into.Method = nil
	}
	into.Target = l.stem
	if len(l.query) > 0 && bytes.IndexByte(l.stem, '?') < 0 {
		start := len(p.unescaped)
		p.unescaped = append(append(append(p.unescaped, l.stem...), '?'), l.query...)
		into.Target = p.unescaped[start:]
	}
	return nil
}

// decodeW3C decodes what servers do to blanks in a field: IIS writes "+", CloudFront "%20", or "%2520" in older logs. A text that has a
// blank was not changed.
func (p *Parser) decodeW3C(value []byte, plus bool) []byte {
	if bytes.IndexByte(value, ' ') >= 0 {
		return value
	}
	percent := plus && bytes.IndexByte(value, '%') >= 0
	if !percent && !(plus && bytes.IndexByte(value, '+') >= 0) {
		return value
	}
	plus = plus && !percent
	start := len(p.unescaped)
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '%' && hasHex(value, i) && unhex(value[i+1])<<4|unhex(value[i+2]) == '%' && hasHex(value, i+2):
			c = unhex(value[i+3])<<4 | unhex(value[i+4])
			i += 4
		case c == '%' && hasHex(value, i):
			c = unhex(value[i+1])<<4 | unhex(value[i+2])
			i += 2
		case c == '+' && plus:
			c = ' '
		}
		p.unescaped = append(p.unescaped, c)
	}
	return p.unescaped[start:len(p.unescaped):len(p.unescaped)]
}

// hasHex reports whether two hexadecimal digits follow index i.
func hasHex(b []byte, i int) bool { return i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2]) }
