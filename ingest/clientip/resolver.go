package clientip

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many entries of a list are looked at: more proxies in a row than anyone has.
const maxHops = 32

// plainHeaders are tried in this order when a trusted peer sent neither X-Forwarded-For nor Forwarded. Each holds one address.
var plainHeaders = []string{"X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "Fly-Client-Ip", "X-Client-Ip"}

// Resolver decides whom to believe. It is immutable and safe for concurrent use.
type Resolver struct {
	trusted []netip.Prefix
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

// New returns a Resolver that believes peers within trusted. header names a header that a trusted peer always sets itself, such as
// CF-Connecting-IP; it then goes before all others. Empty means none.
func New(trusted []netip.Prefix, header string) *Resolver {
	return &Resolver{trusted: trusted, header: http.CanonicalHeaderKey(header)}
}

// Client is the answer for one request.
type Client struct {
	Addr netip.Addr // invalid when it is not known
	Peer netip.Addr // who sent the request; invalid for a local socket
	From string     // name of the header that Addr comes from; "" is the connection
}

// Direct reports whether the request comes from this machine without a proxy in between.
func (c Client) Direct() bool {
	return c.From == "" && (!c.Peer.IsValid() || c.Peer.IsLoopback())
}

// Resolve finds the visitor's address. A header that holds no usable address is passed over; when none does, the peer is the visitor.
func (r *Resolver) Resolve(req *http.Request) Client {
	peer := parsePeer(req.RemoteAddr)
	c := Client{Addr: peer, Peer: peer}
	if peer.IsValid() && !r.trusts(peer) {
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
		c.From = "unusable"
	}
	return c
}

// forwarded reports whether the request passed a proxy, as far as it says so itself.
func forwarded(req *http.Request) bool {
	return req.Header["X-Forwarded-For"] != nil || req.Header["Forwarded"] != nil || req.Header["Via"] != nil ||
		req.Header["X-Forwarded-Host"] != nil || req.Header["X-Forwarded-Proto"] != nil
}

func (r *Resolver) trusts(addr netip.Addr) bool {
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
	hops := 0
	for i := len(values) - 1; i >= 0; i-- {
		list := values[i]
		for list != "" {
			var entry string
			if comma := strings.LastIndexByte(list, ','); comma >= 0 {
				list, entry = list[:comma], list[comma+1:]
			} else {
				list, entry = "", list
			}
			if strings.TrimSpace(entry) == "" {
				continue
			}
			hops++
			addr, ok := parse(entry)
			if !ok || hops > maxHops {
				return last, last.IsValid()
			}
			if !r.trusts(addr) {
				return addr, true
			}
			last = addr
		}
	}
	return last, last.IsValid()
}
