package ingest

import (
	"net/netip"
	"strings"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/hit"
)

// Rules set hits apart by where they come from and what they are for. Such hits are kept, as bots of the kind "own" or "datacentre". The zero
// Rules set nothing apart.
type Rules struct {
	DataCentres []netip.Prefix // ranges where machines stand: bot.ReadRanges reads lists of them
	Addresses   []netip.Prefix // of one's own office, monitoring, ...
	Hosts       []string       // of pages: test systems. "*" stands for any text
	Paths       []string       // of pages: "/wp-*", "/admin/*"
}

// ruleSet is Rules, ready to be asked. nil is no rules.
type ruleSet struct {
	centres, own *bot.Ranges
	hosts, paths []string
}

func newRuleSet(r Rules) *ruleSet {
	if len(r.DataCentres)+len(r.Addresses)+len(r.Hosts)+len(r.Paths) == 0 {
		return nil
	}
	s := &ruleSet{centres: bot.NewRanges(r.DataCentres), own: bot.NewRanges(r.Addresses), paths: r.Paths}
	for _, host := range r.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(host))
	}
	return s
}

// kind returns the kind of bot that a hit is by the rules, or "".
func (s *ruleSet) kind(h *hit.Hit, addr netip.Addr) string {
	switch {
	case s == nil:
		return ""
	case s.own.Contains(addr) || matchesAny(s.hosts, h.Host) || matchesAny(s.paths, h.Path):
		return bot.KindOwn
	case s.centres.Contains(addr):
		return bot.KindDataCentre
	}
	return ""
}

func matchesAny(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if text != "" && matches(pattern, text) {
			return true
		}
	}
	return false
}

// matches compares text with a pattern in which "*" stands for any text, in time proportional to both.
func matches(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for {
		var part string
		part, rest, star = strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
}
