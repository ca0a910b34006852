package bucket

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// scanner reads JSON by position. It knows just what cells are made of and steps over everything else, so that a value from another
// writer (other order, white space, fields of a later version) is read as well. Nesting that is stepped over is bounded.
type scanner struct {
	data []byte
	at   int
}

const maxDepth = 32

func (s *scanner) fail(want string) error {
	return fmt.Errorf("%w: at byte %d: want %s", ErrNotCell, s.at, want)
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// take steps over one byte, with white space before it.
func (s *scanner) take(b byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == b {
		s.at++
		return true
	}
	return false
}

// object calls f with the name of each field; f reads the value. The name is valid until f reads on.
func (s *scanner) object(f func(name []byte) error) error {
	if !s.take('{') {
		return s.fail("an object")
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.text()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon")
		}
		if err := f(name); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or the end of the object")
		}
	}
}

// text reads a string. The result points into the data unless the string has escapes.
func (s *scanner) text() ([]byte, error) {
	if !s.take('"') {
		return nil, s.fail("a string")
	}
	start := s.at
	for ; s.at < len(s.data); s.at++ {
		switch b := s.data[s.at]; {
		case b == '"':
			s.at++
			return s.data[start : s.at-1], nil
		case b == '\\':
			return s.escaped(start)
		case b < ' ':
			return nil, s.fail("no control character in a string")
		}
	}
	return nil, s.fail("the end of the string")
}

// escaped reads on in a string that has escapes; the standard library takes them apart.
func (s *scanner) escaped(start int) ([]byte, error) {
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			var text string
			if err := json.Unmarshal(s.data[start-1:s.at], &text); err != nil {
				return nil, s.fail("a string")
			}
			return []byte(text), nil
		}
	}
	return nil, s.fail("the end of the string")
}

// number reads a whole number that is not negative.
func (s *scanner) number() (int64, error) {
	s.space()
	start := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	digits := s.data[start:s.at]
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(digits) > 1 {
		return 0, s.fail("a whole number")
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0, s.fail("a whole number")
	}
	return n, nil
}

// skip steps over any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.fail("less nesting")
	}
	s.space()
	if s.at >= len(s.data) {
		return s.fail("a value")
	}
	switch s.data[s.at] {
	case '{':
		return s.object(func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.skipArray(depth)
	case '"':
		_, err := s.text()
		return err
	default:
		start := s.at
		for s.at < len(s.data) && !endsWord(s.data[s.at]) {
			s.at++
		}
		if !json.Valid(s.data[start:s.at]) {
			return s.fail("a value")
		}
		return nil
	}
}

func endsWord(b byte) bool {
	switch b {
	case ',', ']', '}', ':', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

func (s *scanner) skipArray(depth int) error {
	s.take('[')
	if s.take(']') {
		return nil
	}
	for {
		if err := s.skip(depth + 1); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or the end of the array")
		}
	}
}

// end checks that nothing follows.
func (s *scanner) end() error {
	s.space()
	if s.at != len(s.data) {
		return s.fail("the end")
	}
	return nil
}
