package wire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// keywords are the attribute types that RFC 2253 section 2.3 names. Kafka, which uses Java's X500Principal.getName(), writes all others
// as numbers.
var keywords = map[string]string{
	"2.5.4.3": "CN", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.6": "C", "2.5.4.9": "STREET",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

// subject writes the subject of a certificate as RFC 2253 does, the last part first: CN=ada,OU=counts,O=Example. "" when it can't be read.
func subject(cert *x509.Certificate) string {
	var rdns pkix.RDNSequence
	if rest, err := asn1.Unmarshal(cert.RawSubject, &rdns); err != nil || len(rest) > 0 {
		return ""
	}
	var b strings.Builder
	for i := len(rdns) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		for j, a := range rdns[i] {
			if j > 0 {
				b.WriteByte('+')
			}
			writeAttribute(&b, a)
		}
	}
	return b.String()
}

func writeAttribute(b *strings.Builder, a pkix.AttributeTypeAndValue) {
	text, isText := a.Value.(string)
	name, known := keywords[a.Type.String()]
	if known && isText && utf8.ValidString(text) {
		b.WriteString(name + "=" + escapeValue(text))
		return
	}
	der, err := asn1.Marshal(a.Value)
	if err != nil {
		der = nil
	}
	b.WriteString(a.Type.String() + "=#" + hex.EncodeToString(der))
}

// escapeValue escapes what would end a value or begin another form of one (RFC 2253 section 2.4).
func escapeValue(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune(`,+"\<>;`, r), r == '#' && i == 0, r == ' ' && (i == 0 || i == len(s)-1):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
