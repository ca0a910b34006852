package clientip

import (
	"net/http"
	"net/netip"
	"testing"
)

func request(remote string, header ...string) *http.Request {
	req := &http.Request{RemoteAddr: remote, Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return req
}

func TestTheVisitorIsTheRightmostUntrustedEntry(t *testing.T) {
	const xff = "X-Forwarded-For"
	trusted, err := ParseTrusted("127.0.0.0/8, ::1, 10.0.0.0/8, 2001:db8::/32")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, peer, header, value, want, from string }{
		{"no header", "127.0.0.1:5000", "", "", "127.0.0.1", ""},
		{"one entry", "127.0.0.1:5000", xff, "81.2.69.142", "81.2.69.142", xff},
		{"a forged entry further left", "127.0.0.1:1", xff, "1.1.1.1, 81.2.69.142", "81.2.69.142", xff},
		{"two proxies", "127.0.0.1:1", xff, "1.1.1.1, 81.2.69.142, 10.0.0.9", "81.2.69.142", xff},
		{"the peer is not trusted", "198.51.100.7:99", xff, "1.1.1.1", "198.51.100.7", ""},
		{"IPv6 peer", "[::1]:9", xff, "2001:218::1", "2001:218::1", xff},
		{"IPv6 in brackets with a port", "127.0.0.1:1", xff, "[2001:218::1]:51234", "2001:218::1", xff},
		{"port", "127.0.0.1:1", xff, "81.2.69.142:443", "81.2.69.142", xff},
		{"zone", "127.0.0.1:1", xff, "fe80::1%eth0", "fe80::1", xff},
		{"mapped", "127.0.0.1:1", xff, "[2001:218::1]:51234, 81.2.69.142:443, fe80::1%eth0, ::ffff:89.160.20.112", "89.160.20.112", xff},
		{"mapped in hex", "127.0.0.1:1", xff, "::ffff:5102:458e", "81.2.69.142", xff},
		{"mapped peer", "[::ffff:127.0.0.1]:1", xff, "81.2.69.142", "81.2.69.142", xff},
		{"only trusted entries", "127.0.0.1:1", xff, "10.0.0.3, 10.0.0.9", "10.0.0.3", xff},
		{"garbage right of a good one", "127.0.0.1:1", xff, "81.2.69.142, unknown", "127.0.0.1", "unusable"},
		{"garbage left of a proxy", "127.0.0.1:1", xff, "evil, 10.0.0.9", "10.0.0.9", xff},
		{"empty entries", "127.0.0.1:1", xff, "81.2.69.142,, ,", "81.2.69.142", xff},
		{"Forwarded", "127.0.0.1:1", "Forwarded", `for=1.1.1.1, for="[2001:218::1]:4711";proto=https;by=10.0.0.1`, "2001:218::1", "Forwarded"},
		{"Forwarded without an address", "127.0.0.1:1", "Forwarded", "for=_hidden", "127.0.0.1", "unusable"},
		{"X-Real-IP", "127.0.0.1:1", "X-Real-IP", "81.2.69.142", "81.2.69.142", "X-Real-Ip"},
		{"a CDN header from a stranger", "198.51.100.7:1", "CF-Connecting-IP", "1.1.1.1", "198.51.100.7", ""},
		{"a proxy that says nothing", "10.0.0.5:1", "Via", "1.1 proxy", "10.0.0.5", "unusable"},
		{"local socket", "@", "", "", "invalid IP", ""},
	} {
		got := New(trusted, 0, "").Resolve(request(test.peer, test.header, test.value))
		if got.Addr.String() != test.want || got.From != test.from {
			t.Errorf("%s: got %v from %q, want %s from %q", test.name, got.Addr, got.From, test.want, test.from)
		}
	}
}

func TestSeveralHeaderLinesAreOneList(t *testing.T) {
	got := New(Loopback(), 0, "").Resolve(request("127.0.0.1:1", "X-Forwarded-For", "1.1.1.1", "X-Forwarded-For", "81.2.69.142"))
	if got.Addr.String() != "81.2.69.142" {
		t.Errorf("got %v", got.Addr)
	}
}

func TestTheConfiguredHeaderGoesFirst(t *testing.T) {
	req := request("127.0.0.1:1", "X-Forwarded-For", "198.51.100.7", "CF-Connecting-IP", "81.2.69.142")
	if got := New(Loopback(), 0, "cf-connecting-ip").Resolve(req); got.Addr.String() != "81.2.69.142" {
		t.Errorf("configured: got %v", got.Addr)
	}
	if got := New(Loopback(), 0, "").Resolve(req); got.Addr.String() != "198.51.100.7" {
		t.Errorf("not configured: got %v", got.Addr)
	}
}

func TestOnlyLocalCallersWithoutAProxyAreDirect(t *testing.T) {
	r := New(Loopback(), 0, "")
	for name, test := range map[string]struct {
		req  *http.Request
		want bool
	}{
		"loopback":           {request("127.0.0.1:1"), true},
		"unix socket":        {request("@"), true},
		"proxy on this host": {request("127.0.0.1:1", "X-Forwarded-For", "81.2.69.142"), false},
		"garbled proxy":      {request("127.0.0.1:1", "X-Forwarded-For", "unknown"), false},
		"from outside":       {request("198.51.100.7:1"), false},
	} {
		if got := r.Resolve(test.req).Direct(); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestWrongRangesAreRefused(t *testing.T) {
	for _, list := range []string{"10.0.0.0/33", "localhost", "10.0.0"} {
		if _, err := ParseTrusted(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
	if got, err := ParseTrusted("none"); err != nil || len(got) != 0 {
		t.Errorf("none: %v, %v", got, err)
	}
}

// FuzzResolve: no panic, and what is resolved from a header is a clean address.
func FuzzResolve(f *testing.F) {
	f.Add("127.0.0.1:1", "[2001:218::1]:51234, 81.2.69.142:443, fe80::1%eth0", "for=\"[::1]\"")
	f.Fuzz(func(t *testing.T, peer, xff, fwd string) {
		got := New(Loopback(), 0, "").Resolve(request(peer, "X-Forwarded-For", xff, "Forwarded", fwd))
		if got.Addr.IsValid() && (got.Addr.Is4In6() || got.Addr.Zone() != "") {
			t.Fatalf("got %v", got.Addr)
		}
		if got.Addr != (netip.Addr{}) && !got.Addr.IsValid() {
			t.Fatal("half an address")
		}
	})
}
