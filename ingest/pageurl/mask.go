package pageurl

import "strings"

// Masked stands where something personal was.
const Masked = "***"

// secretNames are names of parameters whose values are never kept. Compared in lower case.
var secretNames = map[string]bool{
	"access_token": true, "api_key": true, "apikey": true, "auth": true, "authorization": true, "code_verifier": true,
	"email": true, "e-mail": true, "id_token": true, "jwt": true, "key": true, "mail": true, "otp": true, "pass": true, "passwd": true,
	"password": true, "pwd": true, "refresh_token": true, "reset_token": true, "secret": true, "session": true, "session_id": true,
	"phone": true, "phone_number": true, "tel": true, "telephone": true, "mobile": true, "msisdn": true,
	"sessionid": true, "sid": true, "sig": true, "signature": true, "token": true,
}

// maskPath replaces e-mail addresses and secrets in the segments of a decoded path.
func maskPath(path string) string {
	if strings.IndexByte(path, '@') < 0 && len(path) <= minSecret {
		return path
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = maskText(part)
	}
	return strings.Join(parts, "/")
}

// maskQuery replaces the values of secret parameters, and e-mail addresses and tokens in any value. What needs no masking stays byte by
// byte as it was.
func maskQuery(query string) string {
	if !needsMask(query) {
		return query
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok:
			pairs[i] = maskValue(pair)
		case value == "":
		case isSecretName(name):
			pairs[i] = name + "=" + Masked
		default:
			pairs[i] = name + "=" + maskValue(value)
		}
	}
	return strings.Join(pairs, "&")
}

// needsMask is the cheap test that most queries fail.
func needsMask(query string) bool {
	if strings.IndexByte(query, '@') >= 0 || strings.Contains(query, "%40") {
		return true
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) >= minSecret || len(name) >= minSecret || isSecretName(name) {
			return true
		}
	}
	return false
}

// isSecretName reports whether the value of a parameter is never kept. The ids of clicks are among them: one names one click of one person, and
// which kind it is, is kept apart.
func isSecretName(name string) bool {
	if len(name) > len("refresh_token")+8 {
		return false
	}
	name = strings.ToLower(Decode(name))
	if _, ok := clickIDs[name]; ok {
		return true
	}
	return secretNames[name]
}

// maskValue masks an encoded value.
func maskValue(value string) string {
	decoded := Decode(value)
	if masked := maskText(decoded); masked != decoded {
		return masked
	}
	return value
}

// maskText replaces what looks like an e-mail address or a secret.
func maskText(text string) string {
	if isToken(text) || looksRandom(text) {
		return Masked
	}
	at := strings.IndexByte(text, '@')
	for at >= 0 {
		start, end := at, at+1
		for start > 0 && isMailByte(text[start-1]) {
			start--
		}
		for end < len(text) && isMailByte(text[end]) {
			end++
		}
		if start < at && strings.Contains(strings.Trim(text[at+1:end], "."), ".") {
			text = text[:start] + Masked + text[end:]
			at = start + len(Masked) - 1
		}
		next := strings.IndexByte(text[at+1:], '@')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return text
}

func isMailByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' || c == '+' || c >= 0x80
}

// isToken reports whether text is a JSON web token: three parts in base64, the first one a JSON object.
func isToken(text string) bool {
	return strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2 && len(text) > 40
}

// minSecret is the length from which on text may be a secret, in bytes: 32 hexadecimal digits have 128 bits.
const minSecret = 32

// looksRandom reports whether text is long and made as by dice: one word of letters and digits that turn into each other all the time.
// Titles of articles have words and dates; a UUID names a thing and is no secret.
func looksRandom(text string) bool {
	if len(text) < minSecret || isUUID(text) {
		return false
	}
	turns := 0
	for i := range len(text) {
		c := text[i]
		digit, letter := c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z'
		if !digit && !letter {
			if c != '_' && c != '-' && c != '=' && c != '~' && c != '.' && c != '+' {
				return false
			}
			continue
		}
		if i > 0 {
			before := text[i-1]
			if digit && before|0x20 >= 'a' && before|0x20 <= 'z' || letter && before >= '0' && before <= '9' {
				turns++
			}
		}
	}
	return turns >= len(text)/8
}

func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if text[i] != '-' {
				return false
			}
		} else if !isHex(text[i]) {
			return false
		}
	}
	return true
}

// Fragment masks and cuts what follows the "#": a route such as "/reset?token=x", parameters such as "access_token=x", or a place within the page.
func Fragment(raw string) string {
	if raw == "" {
		return ""
	}
	raw = Printable(raw)
	route, query, ok := strings.Cut(raw, "?")
	switch {
	case ok:
		raw = maskParts(route) + "?" + maskQuery(query)
	case strings.IndexByte(raw, '=') > 0:
		raw = maskQuery(raw)
	default:
		raw = maskParts(raw)
	}
	return Cut(raw, MaxPath)
}

// Link masks and cuts an address that is kept as a whole, such as where a link leads.
func Link(raw string) string {
	raw = Printable(raw)
	rest, fragment, hasFragment := strings.Cut(raw, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	rest = maskParts(rest)
	if hasQuery {
		rest += "?" + maskQuery(query)
	}
	if hasFragment {
		rest += "#" + Fragment(fragment)
	}
	return Cut(rest, MaxPath)
}

// maskParts masks the parts of an encoded path; what needs no masking stays byte by byte as it was.
func maskParts(path string) string {
	if strings.IndexByte(path, '@') < 0 && len(path) < minSecret && !strings.Contains(path, "%40") {
		return path
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		decoded := unescape(part, false)
		if masked := maskText(decoded); masked != decoded {
			parts[i] = masked
		}
	}
	return strings.Join(parts, "/")
}
