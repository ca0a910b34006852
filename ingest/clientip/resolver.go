package clientip

import (
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many entries of a list are looked at: more proxies in a row than anyone has.
const maxHops = 32

// plainHeaders are tried in this order when a trusted peer sent neither X-Forwarded-For nor Forwarded. Each holds one address.
var plainHeaders = []string{"X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip", "Fly-Client-Ip", "Do-Connecting-Ip",
	"X-Nf-Client-Connection-Ip", "X-Azure-Clientip", "X-Appengine-User-Ip", "X-Envoy-External-Address", "X-Cluster-Client-Ip", "X-Client-Ip"}

// MaxHops bounds the count of proxies that may be trusted: more in a row than anyone has.
const MaxHops = 16

// Resolver decides whom to believe. It is immutable and safe for concurrent use.
type Resolver struct {
	trusted []netip.Prefix
	hops    int
	header  string
}

// Loopback is what is trusted by default: a proxy on the same machine.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// ParseTrusted reads a comma list of addresses and CIDR ranges; "none" trusts nobody.
func ParseTrusted(list string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" || entry == "none" {
			continue
		}
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			addr, addrErr := netip.ParseAddr(entry)
			if addrErr != nil {
				return nil, fmt.Errorf("trusted proxy %q is neither an address nor a range such as 10.0.0.0/8", entry)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// New returns a Resolver that believes peers within trusted, and the hops nearest to this server whatever their addresses are: with 1 the peer, with
// 2 also the proxy that the peer names, and so on. header names a header that a trusted peer always sets itself, such as CF-Connecting-IP; it then
// goes before all others. Empty means none.
func New(trusted []netip.Prefix, hops int, header string) *Resolver {
	return &Resolver{trusted: trusted, hops: hops, header: http.CanonicalHeaderKey(header)}
}

// Client is the answer for one request.
type Client struct {
	Addr netip.Addr // invalid when it is not known
	Peer netip.Addr // who sent the request; invalid for a local socket
	From string     // name of the header that Addr comes from; "" is the connection, Unusable one of a proxy that named nobody
}

// Unusable is Client.From where a proxy is there but named no address.
const Unusable = "unusable"

// Direct reports whether the request comes from this machine without a proxy in between.
func (c Client) Direct() bool {
	return c.From == "" && (!c.Peer.IsValid() || c.Peer.IsLoopback())
}

// Resolve finds the visitor's address. A header that holds no usable address is passed over; when none does, the peer is the visitor.
func (r *Resolver) Resolve(req *http.Request) Client {
	peer := parsePeer(req.RemoteAddr)
	c := Client{Addr: peer, Peer: peer}
	if peer.IsValid() && !r.trusts(peer, 0) {
		return c
	}
	if r.header != "" {
		if addr, ok := Parse(req.Header.Get(r.header)); ok {
			return Client{Addr: addr, Peer: peer, From: r.header}
		}
	}
	if values := req.Header["X-Forwarded-For"]; len(values) > 0 {
		if addr, ok := r.walk(values, Parse); ok {
			return Client{Addr: addr, Peer: peer, From: "X-Forwarded-For"}
		}
	}
	if values := req.Header["Forwarded"]; len(values) > 0 {
		if addr, ok := r.walk(values, parseForwarded); ok {
			return Client{Addr: addr, Peer: peer, From: "Forwarded"}
		}
	}
	for _, name := range plainHeaders {
		if values := req.Header[name]; len(values) > 0 {
			if addr, ok := Parse(values[0]); ok {
				return Client{Addr: addr, Peer: peer, From: name}
			}
		}
	}
	if forwarded(req) {
		// A proxy is there but said nothing usable. Its own address is not the visitor's.
		c.From = Unusable
	}
	return c
}

// forwarded reports whether the request passed a proxy, as far as it says so itself.
func forwarded(req *http.Request) bool {
	return req.Header["X-Forwarded-For"] != nil || req.Header["Forwarded"] != nil || req.Header["Via"] != nil ||
		req.Header["X-Forwarded-Host"] != nil || req.Header["X-Forwarded-Proto"] != nil
}

// trusts reports whether an address is that of a trusted proxy. hop is 0 for the peer, 1 for whom it names, and so on.
func (r *Resolver) trusts(addr netip.Addr, hop int) bool {
	if hop < r.hops {
		return true
	}
	for _, prefix := range r.trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// walk goes through a comma list, given as one or several header lines, from the right. It stops at the first address that is not a
// trusted proxy. An entry that is no address ends the walk: what stands left of it was written by someone unknown. When all entries are
// trusted proxies, the leftmost one is the visitor (a client in the same private network).
func (r *Resolver) walk(values []string, parse func(string) (netip.Addr, bool)) (netip.Addr, bool) {
	var last netip.Addr
	hop := 0
	for entry := range fromRight(values) {
		hop++
		addr, ok := parse(entry)
		if !ok || hop > maxHops {
			break
		}
		if !r.trusts(addr, hop) {
			return addr, true
		}
		last = addr
	}
	return last, last.IsValid()
}

// fromRight yields the entries of a comma list, given as one or several header lines, from the right. A comma within quotes parts nothing, as
// long as the quotes close again on the right of it: one that a visitor leaves open swallows nothing of what a proxy appends.
func fromRight(values []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(values) - 1; i >= 0; i-- {
			list := values[i]
			for list != "" {
				start := strings.LastIndexByte(list, ',')
				for start >= 0 && strings.Count(list[start:], `"`)%2 == 1 {
					before := strings.LastIndexByte(list[:start], ',')
					if before < 0 && strings.Count(list, `"`)%2 == 1 {
						break // they do not match at all
					}
					start = before
				}
				entry := list[start+1:]
				list = list[:max(start, 0)]
				if strings.TrimSpace(entry) != "" && !yield(entry) {
					return
				}
			}
		}
	}
}
