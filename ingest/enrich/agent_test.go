package enrich

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// truthRow is one line of the corpus of agents.
type truthRow struct{ ua, browser, os, device, source, era string }

func truthRows(t testing.TB, name string) []truthRow {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus(t), "user-agents", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []truthRow
	lines := bufio.NewScanner(f)
	lines.Scan()
	for lines.Scan() {
		col := strings.Split(lines.Text(), "\t")
		rows = append(rows, truthRow{col[0], col[1], col[3], col[4], col[6], col[8]})
	}
	return rows
}

func TestModernAgentsAreRightByFamily(t *testing.T) {
	type score struct{ right, all int }
	browsers, systems, devices := map[string]*score{}, map[string]*score{}, map[string]*score{}
	add := func(m map[string]*score, era string, right bool) {
		if m[era] == nil {
			m[era] = &score{}
		}
		m[era].all++
		if right {
			m[era].right++
		}
	}
	for _, row := range truthRows(t, "ua-truth-humans.tsv") {
		got := ParseAgent(row.ua)
		if row.browser != "*" {
			right := got.Browser == row.browser
			add(browsers, row.era, right)
			if !right && os.Getenv("WEIR_AGENTS") != "" {
				t.Logf("%s browser: got %q want %q: %s", row.era, got.Browser, row.browser, row.ua)
			}
		}
		if row.os != "*" && row.os != "?" && row.os != "Other" {
			right := got.OS == row.os
			add(systems, row.era, right)
			if !right && os.Getenv("WEIR_AGENTS") == "os" {
				t.Logf("%s os: got %q want %q: %s", row.era, got.OS, row.os, row.ua)
			}
		}
		if row.device != "*" && row.device != "?" {
			right := got.Device == row.device
			add(devices, row.era, right)
			if !right && os.Getenv("WEIR_AGENTS") == "device" {
				t.Logf("%s device: got %q want %q: %s", row.era, got.Device, row.device, row.ua)
			}
		}
	}
	for _, era := range []string{"modern", "legacy", "other"} {
		t.Logf("%s: browser %+v, system %+v, device %+v", era, *browsers[era], *systems[era], *devices[era])
	}
	if s := browsers["modern"]; s.right*1000 < s.all*995 {
		t.Errorf("browsers of modern agents: %d of %d right", s.right, s.all)
	}
	if s := systems["modern"]; s.right*1000 < s.all*995 {
		t.Errorf("systems of modern agents: %d of %d right", s.right, s.all)
	}
	if s := devices["modern"]; s.right*100 < s.all*97 {
		t.Errorf("kinds of device of modern agents: %d of %d right", s.right, s.all)
	}
}
