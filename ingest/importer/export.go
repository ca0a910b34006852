package importer

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Export is what the export of another analytics tool says of a hit, beside what stands in Line: its Client is the visitor's name there, its
// Target the page. The strings are copies.
type Export struct {
	Event      string // name of an event; empty: a page view
	Engagement bool   // how long a page view was read: EngagedMs
	EngagedMs  int64
	Title      string
	Browser, BrowserVersion,
	OS, OSVersion,
	Device string // in our words; empty: not known
	Country, RegionCode, Region, City string
	Language                          string // BCP 47, as the export has it
	Screen                            string // width in CSS pixels, or WIDTHxHEIGHT, or with commas
	Bot                               bool
	Props                             map[string]string
}

// columns says where the columns of an export are, by their names in lower case.
type columns map[string]int

// csvExport is a kind of export that is a table with a header.
type csvExport struct {
	format  string
	needs   []string // columns without which a table is none of it
	telling int      // how many of needs make a header look like it
	read    func(p *Parser, row *row, into *Line) error
}

var csvExports = []csvExport{
	{"GoatCounter", []string{"path", "event", "session", "bot", "referrer", "firstvisit", "location", "date"}, 5, readGoatCounter},
	{"Umami", []string{"session_id", "url_path", "event_type", "created_at", "website_id"}, 3, readUmami},
}

// table is what the header of an export says of the rows below it.
type table struct {
	kind    *csvExport
	comma   byte
	columns columns
	width   int
	missing string // a column that is needed and is not there
	totals  bool   // the rows are sums of days, not hits
	version string // of a GoatCounter export
}

// totalsOf names tables of sums by day that are exported by Plausible, by columns that all of them have.
var totalsOf = []string{"date", "visitors"}

// tableOf reads a header. It returns nil for a line that is none.
func tableOf(line []byte) *table {
	for _, comma := range []byte{',', ';', '\t'} {
		if bytes.IndexByte(line, comma) < 0 {
			continue
		}
		t := &table{comma: comma, columns: columns{}}
		fields, ok := splitCSV(nil, line, comma)
		if !ok {
			continue
		}
		for i, f := range fields {
			name := strings.ToLower(strings.TrimSpace(string(f)))
			if i == 0 && len(name) > 1 && name[0] >= '0' && name[0] <= '9' { // GoatCounter's version
				t.version, name = name[:1], strings.TrimLeft(name[1:], ",")
			}
			if _, twice := t.columns[name]; !twice {
				t.columns[name] = i
			}
		}
		t.width = len(fields)
		for i := range csvExports {
			kind := &csvExports[i]
			found, missing := 0, ""
			for _, need := range kind.needs {
				if _, ok := t.columns[need]; ok {
					found++
				} else if missing == "" {
					missing = need
				}
			}
			if found >= kind.telling {
				t.kind, t.missing = kind, missing
				return t
			}
		}
		if !slices.ContainsFunc(totalsOf, func(name string) bool { _, ok := t.columns[name]; return !ok }) {
			t.totals = true
			return t
		}
	}
	return nil
}

// row is one row of a table.
type row struct {
	fields [][]byte
	table  *table
}

// get is the field of a column, "" when the table has no such column.
func (r *row) get(column string) string {
	i, ok := r.table.columns[column]
	if !ok || i >= len(r.fields) {
		return ""
	}
	return string(r.fields[i])
}

// parseRow reads a row below a header.
func (p *Parser) parseRow(line []byte, into *Line) error {
	t := p.table
	switch {
	case t.totals:
		return bad(Totals, "the table has sums by day, of which nobody can say which hits they are: weir takes exports that have every hit")
	case t.missing != "":
		return bad(BadColumn, "it looks like an export of %s, but the column %s is missing in its first line", t.kind.format, t.missing)
	}
	into.Format = t.kind.format + " export"
	var ok bool
	if p.tokens, ok = splitCSV(p.tokens[:0], line, t.comma); !ok {
		return bad(BadQuotes, "a field with a quote inside has to be quoted, and the quote doubled")
	}
	if len(p.tokens) != t.width {
		return bad(CutOff, "%d columns, want %d as in the first line", len(p.tokens), t.width)
	}
	p.export = Export{}
	into.Export = &p.export
	into.Method = get
	return t.kind.read(p, &row{p.tokens, t}, into)
}

var get = []byte("GET")

// splitCSV appends the fields of a record (RFC 4180) to dst. Doubled quotes are joined in place of copies. It reports whether quotes stand
// where they may.
func splitCSV(dst [][]byte, line []byte, comma byte) ([][]byte, bool) {
	for {
		if len(line) == 0 || line[0] != '"' {
			end := bytes.IndexByte(line, comma)
			if end < 0 {
				end = len(line)
			}
			if bytes.IndexByte(line[:end], '"') >= 0 {
				return dst, false
			}
			dst = append(dst, line[:end])
			if end == len(line) {
				return dst, true
			}
			line = line[end+1:]
			continue
		}
		var field []byte
		rest := line[1:]
		for {
			end := bytes.IndexByte(rest, '"')
			if end < 0 {
				return dst, false
			}
			if end+1 < len(rest) && rest[end+1] == '"' {
				field = append(field, rest[:end+1]...)
				rest = rest[end+2:]
				continue
			}
			if field == nil {
				field = rest[:end]
			} else {
				field = append(field, rest[:end]...)
			}
			rest = rest[end+1:]
			break
		}
		dst = append(dst, field)
		if len(rest) == 0 {
			return dst, true
		}
		if rest[0] != comma {
			return dst, false
		}
		line = rest[1:]
	}
}

// exportTimes are the forms of times in exports. Those without a zone are UTC.
var exportTimes = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05 UTC"}

// setTime reads the time of a column.
func (r *row) setTime(column string, into *Line) error {
	text := strings.TrimSpace(r.get(column))
	for _, form := range exportTimes {
		if t, err := time.Parse(form, text); err == nil {
			into.TimeMs = t.UnixMilli()
			return nil
		}
	}
	return bad(BadTime, "column %s: %q, want a time such as 2025-10-25 23:30:26 or 2025-10-25T23:30:26Z", column, clip(text))
}

// flag reads a column of true and false.
func (r *row) flag(column string) bool {
	on, err := strconv.ParseBool(strings.TrimSpace(r.get(column)))
	return err == nil && on
}

// clip bounds what an error quotes.
func clip(text string) string {
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:60], "") + "..."
	}
	return text
}
