package jsonscan

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the type of a JSON value.
type Kind uint8

// Kinds of values.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindObject
	KindArray
)

// Value is one value, as a view into the input.
type Value struct {
	Kind Kind
	// Raw is the text of the value; of a string, what stands between the quotes, still escaped.
	Raw     []byte
	escaped bool
}

// Bytes returns the text of a string, decoded, and the literal text of any other value. It is a view into the input unless the string
// holds escapes. Bytes that are not valid UTF-8 are left as they are.
func (v Value) Bytes() []byte {
	if v.Kind != KindString || !v.escaped {
		return v.Raw
	}
	return appendUnescaped(make([]byte, 0, len(v.Raw)), v.Raw)
}

// Text is Bytes as a string of its own; null is the empty string.
func (v Value) Text() string {
	if v.Kind == KindNull {
		return ""
	}
	return string(v.Bytes())
}

// Int returns a whole number, given as a number or as a string of digits.
func (v Value) Int() (int64, bool) {
	if v.Kind != KindNumber && v.Kind != KindString {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw), 10, 64)
	return n, err == nil
}

// True reports whether the value is the literal true.
func (v Value) True() bool { return v.Kind == KindBool && v.Raw[0] == 't' }

// False reports whether the value is the literal false.
func (v Value) False() bool { return v.Kind == KindBool && v.Raw[0] == 'f' }

// appendUnescaped decodes checked string content. Lone surrogates become U+FFFD, as in encoding/json.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				if i+6 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
					if pair := utf16.DecodeRune(r, hex4(raw[i+3:])); pair != utf8.RuneError {
						r = pair
						i += 6
					} else {
						r = utf8.RuneError
					}
				} else {
					r = utf8.RuneError
				}
			}
			dst = utf8.AppendRune(dst, r)
		default: // quote, backslash, slash
			dst = append(dst, raw[i])
		}
	}
	return dst
}

// hex4 reads four hexadecimal digits that are known to be there.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r = r<<4 | rune(unhex(c))
	}
	return r
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
