package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MaxDepth bounds the nesting of objects and arrays. Real trackers nest three deep.
const MaxDepth = 64

// Object reads the object that data begins with, white space before it allowed, and calls member for each of its members in order. Both
// arguments are views into data, valid as long as data is; a key that holds escapes is decoded first. An error of member ends the
// scan and is returned as it is. The result is what follows the object. All other errors are *SyntaxError.
func Object(data []byte, member func(key []byte, v Value) error) (rest []byte, err error) {
	s := scanner{data: data}
	if !s.open('{') {
		return nil, s.fail(`an object must start with "{"`)
	}
	if s.close('}') {
		return data[s.pos:], nil
	}
	for {
		key, v, ok := s.plainMember()
		if !ok {
			name, err := s.key()
			if err != nil {
				return nil, err
			}
			if v, err = s.value(1); err != nil {
				return nil, err
			}
			key = name.Bytes()
		}
		if err := member(key, v); err != nil {
			return nil, err
		}
		if s.pos < len(data) && data[s.pos] == ',' {
			s.pos++
			continue
		}
		more, err := s.more('}')
		if err != nil {
			return nil, err
		}
		if !more {
			return data[s.pos:], nil
		}
	}
}

// Array reads the array that data begins with and calls element for each of its elements in order; otherwise it is like Object.
func Array(data []byte, element func(v Value) error) (rest []byte, err error) {
	s := scanner{data: data}
	if !s.open('[') {
		return nil, s.fail(`an array must start with "["`)
	}
	if s.close(']') {
		return data[s.pos:], nil
	}
	for {
		s.space()
		v, err := s.value(1)
		if err != nil {
			return nil, err
		}
		if err := element(v); err != nil {
			return nil, err
		}
		more, err := s.more(']')
		if err != nil {
			return nil, err
		}
		if !more {
			return data[s.pos:], nil
		}
	}
}

// One reads the value that data begins with, white space before it allowed, and returns what follows it.
func One(data []byte) (v Value, rest []byte, err error) {
	s := scanner{data: data}
	s.space()
	v, err = s.value(0)
	if err != nil {
		return Value{}, nil, err
	}
	return v, data[s.pos:], nil
}

// Blank reports whether data holds nothing but JSON white space.
func Blank(data []byte) bool {
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}

type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) fail(msg string) error {
	return &SyntaxError{Offset: s.pos, msg: msg, cut: s.pos >= len(s.data)}
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) open(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) close(c byte) bool { return s.open(c) }

// key reads a member's name and the colon after it, up to the value.
func (s *scanner) key() (Value, error) {
	s.space()
	if s.pos >= len(s.data) || s.data[s.pos] != '"' {
		return Value{}, s.fail("a quoted name is expected")
	}
	key, err := s.text()
	if err != nil {
		return Value{}, err
	}
	if !s.open(':') {
		return Value{}, s.fail(`":" is expected after a name`)
	}
	s.space()
	return key, nil
}

// plainMember reads a member as nearly all are: a name and a text, both without escapes, with at most one blank before each. Where the next
// member is another one it leaves it to key and value, which know all of JSON and word the errors.
func (s *scanner) plainMember() (key []byte, v Value, ok bool) {
	data, i := s.data, s.pos
	if i < len(data) && data[i] == ' ' {
		i++
	}
	if i >= len(data) || data[i] != '"' {
		return nil, v, false
	}
	i++
	begin := i
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= ' ' { // names are short
		i++
	}
	if i+3 >= len(data) || data[i] != '"' || data[i+1] != ':' {
		return nil, v, false
	}
	key = data[begin:i]
	i += 2
	if data[i] == ' ' {
		i++
	}
	if data[i] != '"' {
		return nil, v, false
	}
	i++
	end := special(data, i)
	if end >= len(data) || data[end] != '"' {
		return nil, v, false
	}
	s.pos = end + 1
	return key, Value{Kind: KindString, Raw: data[i:end]}, true
}

// more steps over a comma, or over the end of the object or array.
func (s *scanner) more(end byte) (bool, error) {
	s.space()
	if s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',':
			s.pos++
			return true, nil
		case end:
			s.pos++
			return false, nil
		}
	}
	return false, s.fail(fmt.Sprintf(`"," or "%c" is expected`, end))
}

func (s *scanner) value(depth int) (Value, error) {
	if s.pos >= len(s.data) {
		return Value{}, s.fail("a value is expected")
	}
	switch c := s.data[s.pos]; c {
	case '"':
		return s.text()
	case '{', '[':
		return s.nested(depth)
	case 't':
		return s.literal("true", KindBool)
	case 'f':
		return s.literal("false", KindBool)
	case 'n':
		return s.literal("null", KindNull)
	default:
		return s.number()
	}
}

func (s *scanner) literal(word string, kind Kind) (Value, error) {
	start := s.pos
	for i := range len(word) {
		if s.pos >= len(s.data) || s.data[s.pos] != word[i] {
			return Value{}, s.fail("a value is expected")
		}
		s.pos++
	}
	return Value{Kind: kind, Raw: s.data[start:s.pos]}, nil
}

// text reads a string from its opening quote to after its closing one.
func (s *scanner) text() (Value, error) {
	s.pos++
	start := s.pos
	escaped := false
	for i := special(s.data, start); i < len(s.data); i++ {
		c := s.data[i]
		if c == '"' {
			s.pos = i + 1
			return Value{Kind: KindString, Raw: s.data[start:i], escaped: escaped}, nil
		}
		if c == '\\' {
			escaped = true
			n := escapeLen(s.data[i:])
			if n == 0 {
				s.pos = i
				if len(s.data)-i < 6 && plausibleEscape(s.data[i:]) {
					s.pos = len(s.data)
				}
				return Value{}, s.fail("bad escape in text")
			}
			i = special(s.data, i+n) - 1
		} else if c < ' ' {
			s.pos = i
			return Value{}, s.fail("control character in text: write it as an escape")
		}
	}
	s.pos = len(s.data)
	return Value{}, s.fail("text is not closed")
}

// special returns the position of the first quote, backslash or control character at or after i, the length of data when there is none. It
// looks at eight bytes at a time: in found, the high bit of a byte is set when that byte is special, and possibly in bytes above the
// first such one, so the lowest one counts.
func special(data []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(data) {
		word := binary.LittleEndian.Uint64(data[i:])
		quote, slash := word^(ones*'"'), word^(ones*'\\')
		found := ((word-ones*' ')&^word | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= ' ' {
		i++
	}
	return i
}

// escapeLen returns how many bytes the escape at the start of b takes, 0 when it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if unhex(c) == 0xff {
				return 0
			}
		}
		return 6
	}
	return 0
}

// plausibleEscape reports whether b is the beginning of an escape.
func plausibleEscape(b []byte) bool {
	if len(b) == 1 {
		return true
	}
	if b[1] != 'u' {
		return false
	}
	for _, c := range b[2:] {
		if unhex(c) == 0xff {
			return false
		}
	}
	return true
}

func (s *scanner) number() (Value, error) {
	start := s.pos
	s.skip('-')
	switch {
	case s.skip('0'):
	case s.digits():
	default:
		return Value{}, s.fail("a value is expected")
	}
	if s.skip('.') && !s.digits() {
		return Value{}, s.fail("digits are expected after the decimal point")
	}
	if s.skip('e') || s.skip('E') {
		_ = s.skip('+') || s.skip('-')
		if !s.digits() {
			return Value{}, s.fail("digits are expected in the exponent")
		}
	}
	return Value{Kind: KindNumber, Raw: s.data[start:s.pos]}, nil
}

func (s *scanner) skip(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// nested checks an object or array and steps over it.
func (s *scanner) nested(depth int) (Value, error) {
	if depth >= MaxDepth {
		return Value{}, s.fail(fmt.Sprintf("nested deeper than %d", MaxDepth))
	}
	start := s.pos
	kind, end := KindArray, byte(']')
	if s.data[s.pos] == '{' {
		kind, end = KindObject, '}'
	}
	s.pos++
	if s.close(end) {
		return Value{Kind: kind, Raw: s.data[start:s.pos]}, nil
	}
	for {
		s.space()
		if kind == KindObject {
			if _, err := s.key(); err != nil {
				return Value{}, err
			}
		}
		if _, err := s.value(depth + 1); err != nil {
			return Value{}, err
		}
		more, err := s.more(end)
		if err != nil {
			return Value{}, err
		}
		if !more {
			return Value{Kind: kind, Raw: s.data[start:s.pos]}, nil
		}
	}
}
