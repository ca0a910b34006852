package dump

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Line is one line of output: what it is about, and values by name, in order.
type Line struct {
	Kind   string
	Fields []Field
}

// Field is one value of a Line: a number, a text, true, or JSON.
type Field struct {
	Name  string
	Value any
}

func line(kind string, pairs ...any) Line {
	l := Line{Kind: kind}
	for i := 0; i < len(pairs); i += 2 {
		l.add(pairs[i].(string), pairs[i+1])
	}
	return l
}

func (l *Line) add(name string, value any) { l.Fields = append(l.Fields, Field{name, value}) }

// addTime adds a time unless ms is below 0, which stands for none.
func (l *Line) addTime(name string, ms int64) {
	if ms >= 0 {
		l.add(name, time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
}

// addBytes adds text where b is printable, and otherwise hex under the name with "_hex" behind it. nil is null.
func (l *Line) addBytes(name string, b []byte) {
	switch {
	case b == nil:
		l.add(name, json.RawMessage("null"))
	case isText(b):
		l.add(name, string(b))
	default:
		l.add(name+"_hex", hex.EncodeToString(b))
	}
}

func isText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' && r != '\r' }) < 0
}

// MarshalJSON writes an object whose first member is "kind".
func (l Line) MarshalJSON() ([]byte, error) {
	b := append([]byte(`{"kind":`), strconv.Quote(l.Kind)...)
	for _, f := range l.Fields {
		v, err := json.Marshal(f.Value)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", f.Name, l.Kind, err)
		}
		b = append(append(append(b, ','), strconv.Quote(f.Name)...), ':')
		b = append(b, v...)
	}
	return append(b, '}'), nil
}

// String is the line for people: the kind, then name=value. Text is quoted where it would not be one word; true stands as the name alone.
func (l Line) String() string {
	var b strings.Builder
	b.WriteString(l.Kind)
	for _, f := range l.Fields {
		b.WriteString(" " + f.Name)
		switch v := f.Value.(type) {
		case bool:
			if !v {
				b.WriteString("=false")
			}
		case string:
			if v == "" || strings.ContainsFunc(v, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsGraphic(r) }) {
				v = strconv.QuoteToGraphic(v)
			}
			b.WriteString("=" + v)
		case json.RawMessage:
			b.WriteString("=" + string(v))
		default:
			fmt.Fprintf(&b, "=%v", v)
		}
	}
	return b.String()
}
