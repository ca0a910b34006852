package state

import (
	"strings"

	"github.com/weir-analytics/weir/internal/idn"
)

// SiteKey brings a site name into the form names are compared by: lower case, no "www.", no final dot, no white space around it, and
// names beyond ASCII in one form whichever way they are written.
func SiteKey(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.TrimSuffix(name, ".")
	return idn.Host(strings.TrimPrefix(name, "www."))
}

// Reindex rebuilds what is derived from the maps. Whoever builds or changes a State calls it before publishing the result.
func (s *State) Reindex() {
	s.byName = make(map[string]SiteID, len(s.Sites))
	for id, site := range s.Sites {
		s.byName[SiteKey(site.Name)] = id
	}
}
