package clientip

import (
	"slices"
	"strings"
	"testing"
)

func TestHopsAreTrustedWhateverTheirAddress(t *testing.T) {
	const xff = "X-Forwarded-For"
	for _, test := range []struct {
		name              string
		hops              int
		peer, header, xff string
		want, from        string
	}{
		{"none trusted", 0, "198.51.100.7:1", xff, "81.2.69.142", "198.51.100.7", ""},
		{"one proxy", 1, "198.51.100.7:1", xff, "81.2.69.142", "81.2.69.142", xff},
		{"one proxy, forged entry", 1, "198.51.100.7:1", xff, "1.1.1.1, 81.2.69.142", "81.2.69.142", xff},
		{"two proxies", 2, "198.51.100.7:1", xff, "1.1.1.1, 81.2.69.142, 203.0.113.9", "81.2.69.142", xff},
		{"two trusted, one there", 2, "198.51.100.7:1", xff, "81.2.69.142", "81.2.69.142", xff},
		{"one trusted, two there", 1, "198.51.100.7:1", xff, "81.2.69.142, 203.0.113.9", "203.0.113.9", xff},
		{"hops and ranges together", 1, "198.51.100.7:1", xff, "81.2.69.142, 127.0.0.1", "81.2.69.142", xff},
		{"IPv6", 2, "[2001:db8::7]:1", xff, "1.1.1.1, [2001:218::1]:99, 2001:db8::8", "2001:218::1", xff},
		{"Forwarded", 2, "198.51.100.7:1", "Forwarded", `for=1.1.1.1, for="[2001:218::1]:4711";proto=https, for=203.0.113.9`, "2001:218::1", "Forwarded"},
		{"a single header", 1, "198.51.100.7:1", "Cf-Connecting-Ip", "81.2.69.142", "81.2.69.142", "Cf-Connecting-Ip"},
		{"nothing sent", 1, "81.2.69.142:1", "Accept", "*/*", "81.2.69.142", ""},
	} {
		got := New(Loopback(), test.hops, "").Resolve(request(test.peer, test.header, test.xff))
		if got.Addr.String() != test.want || got.From != test.from {
			t.Errorf("%s: got %v from %q, want %s from %q", test.name, got.Addr, got.From, test.want, test.from)
		}
	}
}

// Elements of RFC 7239, section 4, and what visitors may try with quotes.
func TestForwardedIsReadWithItsQuotes(t *testing.T) {
	for value, want := range map[string]string{
		`for=192.0.2.43`:                            "192.0.2.43",
		`For="[2001:db8:cafe::17]:4711"`:            "2001:db8:cafe::17",
		`for=192.0.2.60;proto=http;by=203.0.113.43`: "192.0.2.60",
		`proto=http;FOR = "192.0.2.60:80"`:          "192.0.2.60",
		`for=1.1.1.1, for=198.51.100.17`:            "198.51.100.17",
		`for=192.0.2.43;note="a, for=9.9.9.9"`:      "192.0.2.43",
		`note="x;for=9.9.9.9";for=192.0.2.43`:       "192.0.2.43",
		`for="1.1.1.1, for=192.0.2.43`:              "192.0.2.43", // left open by a visitor
		`for=1.1.1.1;x=", for="[2001:db8::1]"`:      "2001:db8::1",
		`for="_gazonk"`:                             "127.0.0.1",
		`for=unknown`:                               "127.0.0.1",
	} {
		if got := New(Loopback(), 0, "").Resolve(request("127.0.0.1:1", "Forwarded", value)); got.Addr.String() != want {
			t.Errorf("%s: got %v, want %s", value, got.Addr, want)
		}
	}
}

func TestEachStepToTheVisitorIsExplained(t *testing.T) {
	show := func(steps []Step) string {
		var out []string
		for _, s := range steps {
			out = append(out, strings.TrimSpace(s.Header+" "+s.Text)+"="+string(s.What))
		}
		return strings.Join(out, "; ")
	}
	for _, test := range []struct {
		name, peer, want string
		header           []string
	}{
		{"directly", "81.2.69.142:1", "81.2.69.142:1=visitor", nil},
		{"not trusted", "10.0.0.5:1", "10.0.0.5:1=visitor; X-Forwarded-For 81.2.69.142=not-asked", []string{"X-Forwarded-For", "81.2.69.142"}},
		{"a forged entry", "127.0.0.1:1", "127.0.0.1:1=proxy; X-Forwarded-For ::1=proxy; X-Forwarded-For 81.2.69.142=visitor; X-Forwarded-For 1.1.1.1=beyond; Cf-Connecting-Ip 9.9.9.9=not-asked",
			[]string{"X-Forwarded-For", "1.1.1.1, 81.2.69.142, ::1", "CF-Connecting-IP", "9.9.9.9"}},
		{"only proxies", "127.0.0.1:1", "127.0.0.1:1=proxy; X-Forwarded-For 127.0.0.3=proxy; X-Forwarded-For 127.0.0.2=visitor", []string{"X-Forwarded-For", "127.0.0.2, 127.0.0.3"}},
		{"nothing to read", "127.0.0.1:1", "127.0.0.1:1=proxy; X-Forwarded-For unknown=unreadable", []string{"X-Forwarded-For", "unknown"}},
		{"the second header", "127.0.0.1:1", "127.0.0.1:1=proxy; X-Forwarded-For unknown=unreadable; X-Real-Ip 81.2.69.142=visitor", []string{"X-Forwarded-For", "unknown", "X-Real-IP", "81.2.69.142"}},
		{"a local socket", "@", "@=unreadable", nil},
	} {
		if got := show(New(Loopback(), 0, "").Explain(request(test.peer, test.header...))); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
	got := show(New(Loopback(), 0, "CF-Connecting-IP").Explain(request("127.0.0.1:1", "X-Forwarded-For", "9.9.9.9", "CF-Connecting-IP", "81.2.69.142")))
	if want := "127.0.0.1:1=proxy; Cf-Connecting-Ip 81.2.69.142=visitor; X-Forwarded-For 9.9.9.9=not-asked"; got != want {
		t.Errorf("configured:\n got %s\nwant %s", got, want)
	}
}

// FuzzExplain: the explanation names the visitor that Resolve finds, and no other.
func FuzzExplain(f *testing.F) {
	f.Add("127.0.0.1:1", "1.1.1.1, [2001:218::1]:1, 127.0.0.1", `for="[::1]", for=x`, "81.2.69.142", uint8(0))
	f.Add("10.0.0.1:1", "1.1.1.1, 2.2.2.2", `for="1.1.1.1, for=2.2.2.2`, "", uint8(2))
	f.Fuzz(func(t *testing.T, peer, xff, fwd, real string, hops uint8) {
		req := request(peer, "X-Forwarded-For", xff, "Forwarded", fwd, "X-Real-IP", real)
		r := New(Loopback(), int(hops%MaxHops), "")
		client := r.Resolve(req)
		visitors := slices.DeleteFunc(r.Explain(req), func(s Step) bool { return s.What != Visitor })
		if client.From == "unusable" || !client.Peer.IsValid() && client.From == "" {
			if len(visitors) > 0 {
				t.Fatalf("nobody can be read, but %+v", visitors)
			}
			return
		}
		if len(visitors) != 1 || visitors[0].Header != client.From {
			t.Fatalf("resolved %+v, explained %+v", client, r.Explain(req))
		}
		parse := Parse
		if client.From == "Forwarded" {
			parse = parseForwarded
		}
		if addr, ok := parse(visitors[0].Text); !ok || addr != client.Addr {
			t.Fatalf("resolved %v, explained %+v", client.Addr, visitors[0])
		}
	})
}
