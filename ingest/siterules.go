package ingest

import (
	"net/netip"
	"strings"
	"sync"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// siteRules are the rules of one site, ready to be asked. They are made once for each version of the rules.
type siteRules struct {
	of *state.Rules

	own          *bot.Ranges
	hosts, paths []string
	referrers    map[string]bool
	countries    map[string]bool
	query        map[string]bool
}

// rulesMemory keeps the rules of sites, as many as there are sites with rules. Safe for concurrent use.
type rulesMemory struct{ bySite sync.Map } // state.SiteID -> *siteRules

// of returns the rules of a site, nil when it has none.
func (m *rulesMemory) of(site *state.Site) *siteRules {
	if site.Rules == nil {
		return nil
	}
	if known, ok := m.bySite.Load(site.ID); ok && known.(*siteRules).of == site.Rules {
		return known.(*siteRules)
	}
	rules := newSiteRules(site.Rules)
	m.bySite.Store(site.ID, rules)
	return rules
}

func newSiteRules(r *state.Rules) *siteRules {
	s := &siteRules{of: r, paths: r.Paths, referrers: setOf(r.Referrers), countries: setOf(r.Countries), query: setOf(r.Query)}
	var own []netip.Prefix
	for _, text := range r.Addresses { // checked by the state
		if prefix, err := netip.ParsePrefix(text); err == nil {
			own = append(own, prefix.Masked())
		} else if addr, err := netip.ParseAddr(text); err == nil {
			addr = addr.Unmap().WithZone("")
			own = append(own, netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	s.own = bot.NewRanges(own)
	for _, host := range r.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(host))
	}
	return s
}

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[strings.TrimPrefix(strings.ToLower(word), "www.")] = true
	}
	return set
}

// clean brings the page of a hit into the site's form.
func (s *siteRules) clean(h *hit.Hit) {
	if s.of.NoTrailingSlash && len(h.Path) > 1 && strings.HasSuffix(h.Path, "/") {
		if h.Path = strings.TrimRight(h.Path, "/"); h.Path == "" {
			h.Path = "/"
		}
	}
	if s.of.QueryListed && h.Query != "" {
		h.Query = s.keep(h.Query)
	}
}

// keep leaves the listed parameters of a query, in their order.
func (s *siteRules) keep(query string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if s.query[strings.ToLower(pageurl.Decode(name))] {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// kind returns why a hit is set apart, or "".
func (s *siteRules) kind(h *hit.Hit, addr netip.Addr) string {
	switch {
	case s.own.Contains(addr), h.Path != "" && matchesAny(s.paths, h.Path):
		return bot.KindOwn
	case len(s.hosts) > 0 && h.Path != "" && h.Host != "" && !matchesAny(s.hosts, h.Host):
		return bot.KindHost
	case len(s.referrers) > 0 && h.RefHost != "" && hasDomain(s.referrers, h.RefHost):
		return bot.KindReferrer
	case s.countries[strings.ToLower(h.Country)]:
		return bot.KindCountry
	}
	return ""
}

// hasDomain reports whether a host, or a domain that it is below, is in a set.
func hasDomain(set map[string]bool, host string) bool {
	for {
		if set[host] {
			return true
		}
		_, above, ok := strings.Cut(host, ".")
		if !ok {
			return false
		}
		host = above
	}
}
