package wire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
)

// The wanted texts are those of Java's X500Principal.getName().
func TestSubjectAsKafkaWritesIt(t *testing.T) {
	type a = pkix.AttributeTypeAndValue
	oid := func(n ...int) asn1.ObjectIdentifier { return n }
	cn, o, c, dc, mail := oid(2, 5, 4, 3), oid(2, 5, 4, 10), oid(2, 5, 4, 6), oid(0, 9, 2342, 19200300, 100, 1, 25), oid(1, 2, 840, 113549, 1, 9, 1)
	for _, tc := range []struct {
		name string
		rdns pkix.RDNSequence
		want string
	}{
		{"last part first", pkix.RDNSequence{{a{Type: c, Value: "DE"}}, {a{Type: o, Value: "Example"}}, {a{Type: cn, Value: "ada"}}}, "CN=ada,O=Example,C=DE"},
		{"escapes", pkix.RDNSequence{{a{Type: o, Value: `Ex, "am" + <p>;\le`}}, {a{Type: cn, Value: " #a "}}}, `CN=\ #a\ ,O=Ex\, \"am\" \+ \<p\>\;\\le`},
		{"a number sign in front", pkix.RDNSequence{{a{Type: cn, Value: "#a#"}}}, `CN=\#a#`},
		{"several in one", pkix.RDNSequence{{a{Type: cn, Value: "ada"}, a{Type: dc, Value: "x"}}}, "CN=ada+DC=x"},
		{"a type without a word", pkix.RDNSequence{{a{Type: mail, Value: "a@b"}}}, "1.2.840.113549.1.9.1=#0c03614062"},
	} {
		raw, err := asn1.Marshal(tc.rdns)
		if err != nil {
			t.Fatal(err)
		}
		got := subject(&x509.Certificate{RawSubject: raw})
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if got := subject(&x509.Certificate{RawSubject: []byte{1, 2}}); got != "" {
		t.Errorf("a subject that can't be read is %q", got)
	}
}
