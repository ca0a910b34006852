package dialect

import (
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// maxScreen is more CSS pixels than a screen has.
const maxScreen = 20_000

// screenWidth reads the width of a screen from what trackers send: "1920", "1920x1080", or "1920,1080,2". It returns 0 for what is none.
func screenWidth(text string) int {
	if end := strings.IndexAny(text, "xX,"); end >= 0 {
		text = text[:end]
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 1 && n <= maxScreen) {
		return 0
	}
	return int(n)
}

// screenWidthOf reads it from a JSON value: a number, a text, or an array whose first element is the width.
func screenWidthOf(v jsonscan.Value) (width int) {
	if v.Kind != jsonscan.KindArray {
		return screenWidth(v.Text())
	}
	_, _ = jsonscan.Array(v.Raw, func(v jsonscan.Value) error {
		if width == 0 {
			width = screenWidth(v.Text())
		}
		return nil
	})
	return width
}

// Language brings a language tag into the usual form: language and region, such as "de" or "pt-BR", and the script where there is one. Given the
// value of an Accept-Language header, it takes the first one. It returns "" for what is none.
func Language(tag string) string {
	if end := strings.IndexAny(tag, ",;"); end >= 0 {
		tag = tag[:end]
	}
	tag = strings.TrimSpace(tag)
	if known(tag) {
		return tag
	}
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(tag, "_", "-"), "-") {
		switch {
		case len(parts) == 0 && (len(part) == 2 || len(part) == 3) && isLetters(part):
			parts = append(parts, strings.ToLower(part))
		case len(parts) == 0:
			return ""
		case len(parts) == 1 && len(part) == 4 && isLetters(part):
			parts = append(parts, strings.ToUpper(part[:1])+strings.ToLower(part[1:]))
		case len(part) == 2 && isLetters(part):
			return strings.Join(append(parts, strings.ToUpper(part)), "-")
		case len(part) == 3 && isDigit(part[0]) && isDigit(part[1]) && isDigit(part[2]): // a region of UN M.49, such as es-419
			return strings.Join(append(parts, part), "-")
		default:
			return strings.Join(parts, "-") // variants and extensions tell one person from another, and no report needs them
		}
	}
	return strings.Join(parts, "-")
}

// known reports whether a tag has one of the two forms that nearly all have.
func known(tag string) bool {
	lower := func(text string) bool { return text[0] >= 'a' && text[0] <= 'z' && text[1] >= 'a' && text[1] <= 'z' }
	switch len(tag) {
	case 2:
		return lower(tag)
	case 5:
		return lower(tag) && tag[2] == '-' && tag[3] >= 'A' && tag[3] <= 'Z' && tag[4] >= 'A' && tag[4] <= 'Z'
	}
	return false
}

func isLetters(text string) bool {
	for i := range len(text) {
		if text[i]|0x20 < 'a' || text[i]|0x20 > 'z' {
			return false
		}
	}
	return true
}
