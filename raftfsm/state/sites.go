package state

import (
	"strings"
	"time"
	"unicode"

	"github.com/weir-analytics/weir/raftfsm/command"
)

const maxSiteName = 253 // bytes, the longest host name

// addSite trusts that the proposer checked the zone's name: what zones exist depends on the machine, and replicas must agree.
func (s *State) addSite(cmd command.AddSite, now time.Time) (Site, error) {
	name := SiteKey(cmd.Name)
	if err := checkSiteName(name); err != nil {
		return Site{}, err
	}
	if cmd.Timezone == "" {
		return Site{}, invalid("timezone", "it is empty: give a name such as Europe/Berlin or UTC")
	}
	if _, ok := s.byName[name]; ok {
		return Site{}, exists("site", name)
	}
	if err := s.addSalts(cmd.Salts); err != nil {
		return Site{}, err
	}
	site := Site{ID: s.NextSiteID, Name: name, Timezone: cmd.Timezone, Generation: 1, CreatedAt: now}
	s.NextSiteID++
	s.Sites = with(s.Sites, site.ID, site)
	s.Reindex()
	return site, nil
}

func (s *State) updateSite(cmd command.UpdateSite) (any, error) {
	site, ok := s.SiteByName(cmd.Name)
	if !ok {
		return nil, notFound("site", SiteKey(cmd.Name))
	}
	if cmd.NewName != nil {
		name := SiteKey(*cmd.NewName)
		if err := checkSiteName(name); err != nil {
			return nil, err
		}
		if id, taken := s.byName[name]; taken && id != site.ID {
			return nil, exists("site", name)
		}
		site.Name = name
	}
	if cmd.Timezone != nil && *cmd.Timezone != site.Timezone {
		if *cmd.Timezone == "" {
			return nil, invalid("timezone", "it is empty: give a name such as Europe/Berlin or UTC")
		}
		site.Timezone = *cmd.Timezone
		site.Generation++
	}
	if cmd.Rules != nil {
		if err := checkRules(cmd.Rules); err != nil {
			return nil, err
		}
		rules := *cmd.Rules
		site.Rules = &rules
	}
	if err := s.addSalts(cmd.Salts); err != nil {
		return nil, err
	}
	s.Sites = with(s.Sites, site.ID, site)
	s.Reindex()
	return site, nil
}

func (s *State) deleteSite(cmd command.DeleteSite) (any, error) {
	site, ok := s.SiteByName(cmd.Name)
	if !ok {
		return nil, notFound("site", SiteKey(cmd.Name))
	}
	s.Sites = without(s.Sites, site.ID)
	s.deleteLinksOf(site.ID)
	s.Reindex()
	return nil, nil
}

// checkSiteName takes host names, with letters of any script, and the underscores that some hosts have.
func checkSiteName(name string) error {
	const want = "want a host name such as shop.example.com, without https:// and path"
	if name == "" {
		return invalid("name", "it is empty: %s", want)
	}
	if len(name) > maxSiteName {
		return invalid("name", "%d bytes, at most %d are allowed", len(name), maxSiteName)
	}
	for label := range strings.SplitSeq(name, ".") {
		ok := func(r rune) bool { return r == '-' || r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.Nd) }
		if label == "" || strings.ContainsFunc(label, func(r rune) bool { return !ok(r) }) {
			return invalid("name", "%q is no host name: %s", name, want)
		}
	}
	return nil
}
