package bot

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
)

// Kinds of hits by where they come from.
const (
	KindDataCentre = "datacentre" // an address of a range where machines stand and no people sit
	KindOwn        = "own"        // an address, host or path that the operator, or the site's rules, keep out of the counts
	KindHost       = "host"       // a page at a host that is not among the site's
	KindReferrer   = "referrer"   // from a place that the site's rules keep out
	KindCountry    = "country"    // from a country that the site's rules keep out
)

// Ranges is a set of addresses. It is immutable; the nil Ranges is empty.
type Ranges struct {
	from, to []netip.Addr // disjoint, in order
}

// NewRanges makes a set of prefixes.
func NewRanges(prefixes []netip.Prefix) *Ranges {
	sorted := slices.Clone(prefixes)
	slices.SortFunc(sorted, func(a, b netip.Prefix) int { return a.Masked().Addr().Compare(b.Masked().Addr()) })
	r := &Ranges{}
	for _, p := range sorted {
		from, to := p.Masked().Addr(), lastOf(p)
		if n := len(r.to); n > 0 && from.BitLen() == r.to[n-1].BitLen() && from.Compare(r.to[n-1]) <= 0 {
			if to.Compare(r.to[n-1]) > 0 {
				r.to[n-1] = to
			}
			continue
		}
		r.from, r.to = append(r.from, from), append(r.to, to)
	}
	return r
}

// lastOf returns the highest address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// Contains reports whether an address, unmapped, is in the set.
func (r *Ranges) Contains(addr netip.Addr) bool {
	if r == nil || !addr.IsValid() {
		return false
	}
	at, found := slices.BinarySearchFunc(r.from, addr, netip.Addr.Compare)
	if found {
		return true
	}
	return at > 0 && addr.BitLen() == r.to[at-1].BitLen() && addr.Compare(r.to[at-1]) <= 0
}

// ReadRanges reads a list of addresses and prefixes, one a line; what follows "#", ";" or a comma or blank is left out.
func ReadRanges(list io.Reader) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	lines := bufio.NewScanner(list)
	for number := 1; lines.Scan(); number++ {
		text := strings.TrimPrefix(lines.Text(), "\ufeff")
		if end := strings.IndexAny(text, "#;, \t"); end >= 0 {
			text = text[:end]
		}
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, fmt.Errorf("line %d: %q is neither an address nor a range such as 10.0.0.0/8", number, text)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the list of ranges: %w", err)
	}
	return prefixes, nil
}
