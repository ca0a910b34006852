package state

import (
	"maps"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// Bounds of short links. The state is in memory on every node, and its snapshot holds all of them.
const (
	MaxLinks     = 50_000
	MaxSlugBytes = 100
	MaxDestBytes = 2048 // what browsers and servers take without trouble
)

// LinkKey names a link: its slug, with the domain and a slash before it when it answers at one domain only. Clicks are counted under it.
type LinkKey string

// KeyOf returns the key of a link.
func KeyOf(domain, slug string) LinkKey {
	if domain == "" {
		return LinkKey(slug)
	}
	return LinkKey(domain + "/" + slug)
}

// Link is a short link.
type Link struct {
	Domain    string    `json:"domain,omitempty"` // host at which it answers; empty: at all others
	Slug      string    `json:"slug"`
	SiteID    SiteID    `json:"site_id"` // its clicks count for
	Dest      string    `json:"dest"`    // where it leads: http or https, only ASCII
	Status    int       `json:"status"`  // of the answer: 301, 302 or 307
	PassQuery bool      `json:"pass_query,omitempty"`
	PassPath  bool      `json:"pass_path,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // it leads nowhere from then on
	CreatedAt time.Time `json:"created_at"`
}

// Key names the link.
func (l *Link) Key() LinkKey { return KeyOf(l.Domain, l.Slug) }

// FindLink returns the link that a request for a slug at a host means: the host's own, or else one of all hosts. A host is compared without
// "www.".
func (s *State) FindLink(host, slug string) (Link, bool) {
	if host = SiteKey(host); host != "" {
		if link, ok := s.Links[KeyOf(host, slug)]; ok {
			return link, true
		}
	}
	link, ok := s.Links[LinkKey(slug)]
	return link, ok && link.Domain == ""
}

func (s *State) putLinks(cmd command.PutLinks, now time.Time) (any, error) {
	links := maps.Clone(s.Links)
	if links == nil {
		links = make(map[LinkKey]Link, len(cmd.Links))
	}
	var put []Link
	for _, in := range cmd.Links {
		link, err := s.newLink(in, now)
		if err != nil {
			return nil, err
		}
		if before, there := links[link.Key()]; there {
			if !cmd.Replace {
				return nil, exists("link", string(link.Key()))
			}
			if before.SiteID != link.SiteID {
				return nil, invalid("slug", "link %q is another site's: remove it there first", link.Key())
			}
			link.CreatedAt = before.CreatedAt
		}
		links[link.Key()] = link
		put = append(put, link)
	}
	if len(links) > MaxLinks {
		return nil, invalid("slug", "there would be %d links, at most %d are allowed: remove some first", len(links), MaxLinks)
	}
	s.Links = links
	return put, nil
}

func (s *State) newLink(in command.Link, now time.Time) (Link, error) {
	site, ok := s.SiteByName(in.Site)
	if !ok {
		return Link{}, notFound("site", SiteKey(in.Site))
	}
	link := Link{Domain: SiteKey(in.Domain), Slug: in.Slug, SiteID: site.ID, Dest: in.Dest, Status: in.Status, PassQuery: in.PassQuery,
		PassPath: in.PassPath, CreatedAt: now}
	if in.ExpiresMs != 0 {
		link.ExpiresAt = time.UnixMilli(in.ExpiresMs).UTC()
	}
	if link.Domain != "" {
		if err := checkSiteName(link.Domain); err != nil {
			return Link{}, invalid("domain", "%q is no host name: want one such as go.example.com", link.Domain)
		}
	}
	if err := checkSlug(link.Slug); err != nil {
		return Link{}, err
	}
	switch link.Status {
	case 301, 302, 307:
	default:
		return Link{}, invalid("status", "%d, want 302 (the usual one), 301 or 307", link.Status)
	}
	return link, checkDest(link.Dest)
}

func (s *State) deleteLink(cmd command.DeleteLink) (any, error) {
	key := KeyOf(SiteKey(cmd.Domain), cmd.Slug)
	if _, ok := s.Links[key]; !ok {
		return nil, notFound("link", string(key))
	}
	s.Links = without(s.Links, key)
	return nil, nil
}

// deleteLinksOf removes the links of a site that is deleted.
func (s *State) deleteLinksOf(site SiteID) {
	links := maps.Clone(s.Links)
	maps.DeleteFunc(links, func(_ LinkKey, l Link) bool { return l.SiteID == site })
	s.Links = links
}

// checkSlug takes letters of any script, digits, and what stands in paths without escapes.
func checkSlug(slug string) error {
	if slug == "" || len(slug) > MaxSlugBytes || !utf8.ValidString(slug) {
		return invalid("slug", "%d bytes, 1 to %d are allowed", len(slug), MaxSlugBytes)
	}
	wrong := func(r rune) bool {
		return !strings.ContainsRune("-_.~", r) && !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
	}
	if strings.ContainsFunc(slug, wrong) || strings.Trim(slug, ".") == "" {
		return invalid("slug", "%q: want letters, digits and any of - _ . ~", slug)
	}
	return nil
}

// checkDest takes whole addresses of the web, as they stand in a Location header.
func checkDest(dest string) error {
	const want = "want a whole address such as https://example.com/page"
	if dest == "" || len(dest) > MaxDestBytes {
		return invalid("dest", "%d bytes, 1 to %d are allowed: %s", len(dest), MaxDestBytes, want)
	}
	for i := range len(dest) {
		if c := dest[i]; c <= ' ' || c >= 0x7f || c == '\\' {
			return invalid("dest", "byte %#x at %d cannot stand in an address: %s", c, i, want)
		}
	}
	u, err := url.Parse(dest)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return invalid("dest", "%q leads nowhere on the web: %s", dest, want)
	}
	if u.User != nil {
		return invalid("dest", "it has a user name or password in it: %s", want)
	}
	return nil
}
