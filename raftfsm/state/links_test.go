package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

func withSite(t *testing.T, names ...string) *State {
	t.Helper()
	s := New()
	for _, name := range names {
		next, _, err := s.Apply(command.AddSite{Name: name, Timezone: "UTC"}, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}

func TestOnlyLinksThatLeadOutIntoTheWebAreTaken(t *testing.T) {
	s := withSite(t, "a.example")
	good := command.Link{Slug: "x", Site: "a.example", Dest: "https://b.example/", Status: 302}
	for _, test := range []struct {
		field  string
		change func(l *command.Link)
	}{
		{"", func(l *command.Link) {}},
		{"", func(l *command.Link) { l.Slug, l.Domain, l.Status = "größe-1_~.x", "WWW.Go.example", 307 }},
		{"dest", func(l *command.Link) { l.Dest = "javascript:alert(1)" }},
		{"dest", func(l *command.Link) { l.Dest = "//b.example/" }},
		{"dest", func(l *command.Link) { l.Dest = "/path" }},
		{"dest", func(l *command.Link) { l.Dest = "https:b.example" }},
		{"dest", func(l *command.Link) { l.Dest = "https:///x" }},
		{"dest", func(l *command.Link) { l.Dest = "https://user:pw@b.example/" }},
		{"dest", func(l *command.Link) { l.Dest = "https://b.example/\r\nSet-Cookie: a=b" }},
		{"dest", func(l *command.Link) { l.Dest = "https://b.example\\@c.example/" }},
		{"dest", func(l *command.Link) { l.Dest = "https://b.example/" + strings.Repeat("a", MaxDestBytes) }},
		{"dest", func(l *command.Link) { l.Dest = "data:text/html,x" }},
		{"slug", func(l *command.Link) { l.Slug = "" }},
		{"slug", func(l *command.Link) { l.Slug = "a/b" }},
		{"slug", func(l *command.Link) { l.Slug = ".." }},
		{"slug", func(l *command.Link) { l.Slug = "a b" }},
		{"slug", func(l *command.Link) { l.Slug = strings.Repeat("a", MaxSlugBytes+1) }},
		{"status", func(l *command.Link) { l.Status = 200 }},
		{"domain", func(l *command.Link) { l.Domain = "https://go.example" }},
	} {
		link := good
		test.change(&link)
		next, _, err := s.Apply(command.PutLinks{Links: []command.Link{link}}, time.Unix(2, 0).UTC())
		var wrong ErrInvalid
		switch {
		case test.field == "" && err != nil:
			t.Errorf("%+v: %v", link, err)
		case test.field == "" && len(next.Links) != 1:
			t.Errorf("%+v: %v", link, next.Links)
		case test.field != "" && (!errors.As(err, &wrong) || wrong.Field != test.field || next != s):
			t.Errorf("%+v: error %v, want one of %s", link, err, test.field)
		}
	}
}

func TestLinksArePutAllOrNone(t *testing.T) {
	s := withSite(t, "a.example", "b.example")
	put := func(s *State, replace bool, links ...command.Link) (*State, error) {
		next, _, err := s.Apply(command.PutLinks{Links: links, Replace: replace}, time.Unix(2, 0).UTC())
		return next, err
	}
	link := func(slug, domain, site string) command.Link {
		return command.Link{Slug: slug, Domain: domain, Site: site, Dest: "https://x.example/" + site, Status: 302}
	}
	s, err := put(s, false, link("one", "", "a.example"), link("one", "go.example", "b.example"))
	if err != nil || len(s.Links) != 2 {
		t.Fatal(err, s.Links)
	}
	before := s
	for name, try := range map[string]func() (*State, error){
		"there already": func() (*State, error) {
			return put(s, false, link("two", "", "a.example"), link("one", "", "a.example"))
		},
		"of no site":     func() (*State, error) { return put(s, false, link("two", "", "c.example")) },
		"another site's": func() (*State, error) { return put(s, true, link("one", "", "b.example")) },
	} {
		if next, err := try(); err == nil || next != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	changed := link("one", "", "a.example")
	changed.Dest = "https://y.example/"
	if s, err = put(s, true, changed); err != nil || s.Links["one"].Dest != changed.Dest || before.Links["one"].Dest == changed.Dest {
		t.Errorf("replace: %v", err)
	}
	for _, c := range []struct{ host, slug, site string }{
		{"any.example", "one", "a.example"}, {"", "one", "a.example"}, {"go.example", "one", "b.example"}, {"WWW.GO.example", "one", "b.example"},
		{"any.example", "two", ""}, {"any.example", "go.example/one", ""},
	} {
		l, ok := s.FindLink(c.host, c.slug)
		if ok != (c.site != "") || ok && s.Sites[l.SiteID].Name != c.site {
			t.Errorf("%s at %q: %v, %v", c.slug, c.host, l, ok)
		}
	}

	b, err := s.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseSnapshot(b)
	if err != nil || len(again.Links) != 2 || again.Links["one"] != s.Links["one"] {
		t.Errorf("snapshot: %v, %v", err, again.Links)
	}

	if s, _, err = s.Apply(command.DeleteSite{Name: "b.example"}, time.Unix(3, 0)); err != nil || len(s.Links) != 1 {
		t.Errorf("links of a deleted site: %v, %v", s.Links, err)
	}
	if s, _, err = s.Apply(command.DeleteLink{Slug: "one"}, time.Unix(3, 0)); err != nil || len(s.Links) != 0 {
		t.Errorf("delete: %v, %v", s.Links, err)
	}
	if _, _, err = s.Apply(command.DeleteLink{Slug: "one"}, time.Unix(3, 0)); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete twice: %v", err)
	}
}

func TestLinksAreBounded(t *testing.T) {
	s := withSite(t, "a.example")
	links := make([]command.Link, MaxLinks)
	for i := range links {
		links[i] = command.Link{Slug: strings.Repeat("a", 1+i/26%50) + string(rune('a'+i%26)) + time.Duration(i).String(), Site: "a.example", Dest: "https://b.example/", Status: 302}
		links[i].Slug = strings.NewReplacer("µ", "u").Replace(links[i].Slug)
	}
	s, _, err := s.Apply(command.PutLinks{Links: links}, time.Unix(2, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	one := links[0]
	one.Slug = "one-more"
	if _, _, err := s.Apply(command.PutLinks{Links: []command.Link{one}}, time.Unix(2, 0)); err == nil {
		t.Error("one more than the bound was taken")
	}
	if _, _, err := s.Apply(command.PutLinks{Links: links[:1], Replace: true}, time.Unix(2, 0)); err != nil {
		t.Errorf("a change at the bound: %v", err)
	}
}
