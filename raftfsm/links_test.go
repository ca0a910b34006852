package raftfsm

import (
	"strings"
	"testing"

	"github.com/weir-analytics/weir/raftfsm/command"
)

func TestDestinationsStandInHeaders(t *testing.T) {
	for raw, want := range map[string]string{
		" https://Bücher.example:8443/Straße?q=ä#ü ": "https://xn--bcher-kva.example:8443/Stra%C3%9Fe?q=%C3%A4#%C3%BC",
		"HTTPS://b.example":      "https://b.example",
		"https://b.example/%2f?": "https://b.example/%2f?",
		"nonsense":               "nonsense",
		"javascript:alert(1)":    "javascript:alert(1)",
		"https://[2001:db8::1]/": "https://[2001:db8::1]/",
	} {
		if got := asciiAddress(raw); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func TestSlugsAreDrawnForLinksWithout(t *testing.T) {
	cfg, _ := testConfig(t.TempDir())
	c, stop := start(t, cfg)
	defer stop()
	if _, err := c.AddSite(t.Context(), "a.example", "UTC"); err != nil {
		t.Fatal(err)
	}
	dest := command.Link{Site: "a.example", Dest: "https://b.example/", Status: 302}
	links, err := c.PutLinks(t.Context(), []command.Link{dest, dest}, false)
	if err != nil || len(links) != 2 || links[0].Slug == links[1].Slug || len(links[0].Slug) != 7 || strings.ContainsAny(links[0].Slug, "01oil/") {
		t.Fatalf("%+v, %v", links, err)
	}
	if err := c.DeleteLink(t.Context(), "", links[0].Slug); err != nil || len(c.State().Links) != 1 {
		t.Errorf("%v, %v", err, c.State().Links)
	}
}
