package cmd

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestFilesOfLinksOfOtherServicesAreRead(t *testing.T) {
	got, err := readLinks(strings.NewReader("\ufeffKeyword,URL,Title,status,expires,host\nspring,https://a.example/x,\"A, b\",301,2026-12-31T00:00:00Z,\nfall,https://a.example/y,,,,go.example\n"), "s.example")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	want := []linkDoc{
		{Slug: "spring", Dest: "https://a.example/x", Status: 301, ExpiresAt: &at, Domain: "s.example"},
		{Slug: "fall", Dest: "https://a.example/y", Domain: "go.example"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for in, message := range map[string]string{
		"": "columns", "slug,title\na,b\n": "dest", "slug,dest\na\n": "line 2", "slug,dest,status\na,b,c\n": "line 2: status", "slug,dest,expires\na,b,soon\n": "line 2: expires",
	} {
		if _, err := readLinks(strings.NewReader(in), ""); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v, want %q in it", in, err, message)
		}
	}
}

func TestLinksAreSentInBodiesThatAreTaken(t *testing.T) {
	links := make([]linkDoc, 1000)
	for i := range links {
		links[i] = linkDoc{Slug: "slug", Dest: "https://a.example/" + strings.Repeat("x", 500)}
	}
	if n := fitting(links); n < 50 || n*500 > 60<<10 {
		t.Errorf("%d links of 500 bytes in one body", n)
	}
	if n := fitting([]linkDoc{{Dest: strings.Repeat("x", 70<<10)}, {}}); n != 1 {
		t.Errorf("%d", n)
	}
}
