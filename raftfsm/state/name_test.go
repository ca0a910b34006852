package state

import "testing"

func TestSiteByNameIgnoresCaseAndWWW(t *testing.T) {
	s := &State{Sites: map[SiteID]Site{7: {ID: 7, Name: "shop.example.com"}}}
	s.Reindex()
	for _, name := range []string{"shop.example.com", "Shop.Example.COM", "www.shop.example.com", "shop.example.com.", " shop.example.com "} {
		if site, ok := s.SiteByName(name); !ok || site.ID != 7 {
			t.Errorf("SiteByName(%q) = %v, %v, want site 7", name, site.ID, ok)
		}
	}
	if _, ok := s.SiteByName("example.com"); ok {
		t.Error("SiteByName found a site that does not exist")
	}
}
