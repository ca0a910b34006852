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

// maskPath replaces e-mail addresses and JSON web tokens in the segments of a decoded path.
func maskPath(path string) string {
	if strings.IndexByte(path, '@') < 0 && !strings.Contains(path, "eyJ") {
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
		case secretNames[strings.ToLower(Decode(name))]:
			pairs[i] = name + "=" + Masked
		default:
			pairs[i] = name + "=" + maskValue(value)
		}
	}
	return strings.Join(pairs, "&")
}

// needsMask is the cheap test that most queries fail.
func needsMask(query string) bool {
	if strings.IndexByte(query, '@') >= 0 || strings.Contains(query, "%40") || strings.Contains(query, "eyJ") {
		return true
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if len(name) <= len("refresh_token")+8 && secretNames[strings.ToLower(Decode(name))] {
			return true
		}
	}
	return false
}

// maskValue masks an encoded value.
func maskValue(value string) string {
	decoded := Decode(value)
	if masked := maskText(decoded); masked != decoded {
		return masked
	}
	return value
}

// maskText replaces what looks like an e-mail address or a JSON web token.
func maskText(text string) string {
	if isToken(text) {
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
