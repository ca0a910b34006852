package clientip

import (
	"net/netip"
	"strings"
)

// Parse reads an address as proxies write it: plain, with a port, in brackets, with a zone, IPv4-mapped, in quotes. The result has no zone
// and is IPv4 when it is IPv4-mapped.
func Parse(text string) (netip.Addr, bool) {
	text = strings.Trim(text, " \t\"")
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return netip.Addr{}, false
		}
		text = text[1:end]
	} else if colon := strings.LastIndexByte(text, ':'); colon >= 0 && strings.IndexByte(text, ':') == colon {
		text = text[:colon] // exactly one colon: IPv4 and a port
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.Unmap().WithZone(""), true
}

func parsePeer(remote string) netip.Addr {
	addr, _ := Parse(remote)
	return addr
}

// parseForwarded reads the for= parameter of one element of a Forwarded header (RFC 7239). Names such as "unknown" or "_hidden" are no
// addresses.
func parseForwarded(element string) (netip.Addr, bool) {
	quoted, start := false, 0
	for i := 0; i <= len(element); i++ {
		if i < len(element) {
			switch c := element[i]; {
			case c == '"':
				quoted = !quoted
				continue
			case c != ';' || quoted:
				continue
			}
		}
		name, value, ok := strings.Cut(strings.TrimSpace(element[start:i]), "=")
		if ok && strings.EqualFold(strings.TrimSpace(name), "for") {
			return Parse(strings.TrimSpace(value))
		}
		start = i + 1
	}
	return netip.Addr{}, false
}
