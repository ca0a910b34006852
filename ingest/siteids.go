package ingest

import (
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// SiteUUID returns the UUID by which trackers that know only UUIDs name a site: version 5 of its name, in the name space of DNS. Any tool
// makes the same one: uuidgen --sha1 --namespace @dns --name example.com.
func SiteUUID(siteName string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(state.SiteKey(siteName)))
}

// siteIDs finds sites by their UUIDs. The table is made once for a version of the state.
type siteIDs struct{ table atomic.Pointer[siteTable] }

type siteTable struct {
	version uint64
	byID    map[uuid.UUID]state.SiteID
}

func (s *siteIDs) find(st *state.State, id uuid.UUID) (state.Site, bool) {
	t := s.table.Load()
	if t == nil || t.version != st.Version {
		t = &siteTable{version: st.Version, byID: make(map[uuid.UUID]state.SiteID, len(st.Sites))}
		for number, site := range st.Sites {
			t.byID[SiteUUID(site.Name)] = number
		}
		s.table.Store(t)
	}
	number, ok := t.byID[id]
	if !ok {
		return state.Site{}, false
	}
	site, ok := st.Sites[number]
	return site, ok
}
