package cmd

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/internal/testkit"
)

// Exports of other tools become hits of their own days; importing them again, or a longer one, counts nothing twice.
func TestExportsOfOtherToolsAreImported(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", "shop.example", "--timezone", "Europe/Berlin")
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const header = "2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,Screen size,Location,FirstVisit,Date\n"
	rows := []string{
		"/a,\"A, B\",false,,Firefox 143,Windows 11,s1,0,example.org,h,\"1920,1080,1\",DE,true,2024-03-01T10:00:00Z\n",
		"/a,\"=cmd|'/c calc'!A0\n<script>\",false,,Firefox 143,Windows 11,s1,0,,,,DE,false,2024-03-01T10:05:00Z\n",
		"/b,,false,,Mobile Safari 17.1,iOS 17.1,s2,0,,,,FR,true,2024-03-01T23:30:00Z\n",
		"/b,,false,,,,s3,5,,,,,true,2024-03-01T11:00:00Z\n",
	}
	goat := write("goat.csv", header+strings.Join(rows[:3], ""))
	if out := n.Run("", "import", "--site", "shop.example", "--check", goat); !strings.Contains(out, "GoatCounter export") || !strings.Contains(out, "nothing was imported") {
		t.Errorf("--check: %s", out)
	}
	n.Run("", "import", "--site", "shop.example", goat)
	if out := n.Run("", "import", "--site", "shop.example", goat); !strings.Contains(out, "3 imported before") {
		t.Errorf("the second import: %s", out)
	}
	grown := write("grown.csv", header+strings.Join(rows, ""))
	if out := n.Run("", "import", "--site", "shop.example", grown); !strings.Contains(out, "1 hits (0 human, 1 bots), 3 imported before") {
		t.Errorf("a longer export: %s", out)
	}
	day := func(args ...string) []countRow {
		t.Helper()
		return stats(t, n, append([]string{"shop.example", "--from", "2024-03-01", "--to", "2024-03-03"}, args...)...).Rows
	}
	equal(t, "page views by day of the site's zone", column(day("--every", "day"), startAs("2006-01-02"), pageviews), map[string]int64{"2024-03-01": 2, "2024-03-02": 1})
	equal(t, "page views by browser", column(day("--by", "browser"), rowKey, pageviews), map[string]int64{"Firefox": 2, "Mobile Safari": 1})
	equal(t, "page views by country", column(day("--by", "country"), rowKey, pageviews), map[string]int64{"DE": 2, "FR": 1})
	for _, row := range day() {
		if row.Visitors != 2 || row.Bots != 1 {
			t.Errorf("%d visitors and %d bots, want 2 and 1", row.Visitors, row.Bots)
		}
	}

	if out := n.Run("", "stats", "shop.example", "--by", "title", "--from", "2024-03-01", "--to", "2024-03-03", "--csv"); !strings.Contains(out, "'=cmd|'/c calc'!A0") || !strings.Contains(out, "<script>") {
		t.Errorf("titles as CSV: %s", out)
	}

	// A zip of several files, of which one has hits.
	path := filepath.Join(dir, "umami.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(f)
	for name, text := range map[string]string{
		"website_event.csv": "website_id,session_id,hostname,browser,os,device,country,url_path,event_type,event_name,created_at\n" +
			"w,s,shop.example,chrome,Mac OS,laptop,US,/u,1,,2024-06-01 08:00:00\nw,s,shop.example,chrome,Mac OS,laptop,US,/u,2,signup,2024-06-01 08:01:00\n",
		"session_data.csv": "date,visitors\n2024-06-01,7\n",
	} {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if out := n.Run("", "import", "--site", "shop.example", path); !strings.Contains(out, "2 hits (2 human") || !strings.Contains(out, "sums, not hits") {
		t.Errorf("a zip: %s", out)
	}
	for _, row := range stats(t, n, "shop.example", "--from", "2024-06-01", "--to", "2024-06-02").Rows {
		if row.Pageviews != 1 || row.Events != 1 || row.Visitors != 1 {
			t.Errorf("of the zip: %+v", row)
		}
	}

	ga4 := write("ga4.json", `{"event_timestamp":"1714566896123456","event_name":"page_view","user_pseudo_id":"1.2","event_params":[{"key":"page_location","value":{"string_value":"https://shop.example/g"}}],"geo":{"country":"Germany"}}`+"\n"+
		`{"event_timestamp":"1714566897123456","event_name":"session_start","user_pseudo_id":"1.2"}`+"\n")
	if out := n.Run("", "import", "--site", "shop.example", ga4); !strings.Contains(out, "1 hits") || !strings.Contains(out, "neither a page view nor an event") {
		t.Errorf("GA4: %s", out)
	}
	if _, errOut, err := n.Try("", "import", "--site", "shop.example", write("totals.csv", "date,visitors,pageviews\n2024-01-01,5,7\n")); err == nil || !strings.Contains(errOut, "no line was understood") {
		t.Errorf("sums: %v %s", err, errOut)
	}
}

func pageviews(r countRow) int64 { return r.Pageviews }
