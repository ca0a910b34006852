package importer

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

const (
	goat2  = "2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,Screen size,Location,FirstVisit,Date\n"
	goat1  = "1Path,Title,Event,Bot,Session,FirstVisit,Referrer,Referrer scheme,Browser,Screen size,Location,Date\n"
	umami  = "website_id,session_id,visit_id,event_id,hostname,browser,os,device,screen,language,country,region,city,url_path,url_query,referrer_path,referrer_query,referrer_domain,page_title,event_type,event_name,created_at\n"
	agent1 = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
)

// readAll parses a stream, and returns a copy of each line that is a hit, and why the others are none.
func readAll(t *testing.T, text string) (lines []Line, exports []Export, refused map[int64]*Bad) {
	t.Helper()
	r, err := NewReader(strings.NewReader(text), 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p Parser
	refused = map[int64]*Bad{}
	for {
		line, number, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, exports, refused
		}
		if err != nil {
			t.Fatal(err)
		}
		var l Line
		if err := p.Parse(line, &l); err != nil {
			var bad *Bad
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			refused[number] = bad
			continue
		}
		for _, b := range []*[]byte{&l.Client, &l.Host, &l.Target, &l.Referrer, &l.Agent} {
			*b = []byte(string(*b))
		}
		lines = append(lines, l)
		if l.Export != nil {
			exports = append(exports, *l.Export)
		}
	}
}

func at(l *Line) string { return time.UnixMilli(l.TimeMs).UTC().Format(time.RFC3339) }

func TestGoatCounterExports(t *testing.T) {
	lines, exports, refused := readAll(t, "\xef\xbb\xbf"+goat2+
		`/a.html,"A ""quoted"" title, with
a line end",false,,Firefox 143,Windows 11,3f2a,0,example.org/x,h,"1920,1080,1",DE-BE,true,2024-03-01T10:00:00Z`+"\r\n"+
		"signup,,true,,Mobile Safari 17.1,iOS 17.1,3f2b,0,,,,US,false,2024-03-01T11:30:00+01:00\n"+
		"/bot,,false,,,,3f2c,5,newsletter,c,,,false,2024-03-01T12:00:00Z\n"+
		"/broken,,false,,,,3f2c,0,,,,,false,31/12/2024\n"+
		"/short,,false\n")
	if len(lines) != 3 || len(refused) != 3 || refused[1].Reason != Header {
		t.Fatalf("%d hits, refused %v", len(lines), refused)
	}
	if l, e := &lines[0], &exports[0]; string(l.Target) != "/a.html" || string(l.Client) != "3f2a" || string(l.Referrer) != "https://example.org/x" || at(l) != "2024-03-01T10:00:00Z" ||
		e.Title != "A \"quoted\" title, with\na line end" || e.Browser != "Firefox" || e.BrowserVersion != "143" || e.OS != "Windows" || e.OSVersion != "11" ||
		e.Country != "DE" || e.RegionCode != "DE-BE" || e.Screen != "1920,1080,1" || e.Bot || e.Event != "" || l.Format != "GoatCounter export" {
		t.Errorf("%+v %+v", l, e)
	}
	if l, e := &lines[1], &exports[1]; e.Event != "signup" || e.Browser != "Mobile Safari" || e.OS != "iOS" || e.Country != "US" || at(l) != "2024-03-01T10:30:00Z" {
		t.Errorf("%+v %+v", l, e)
	}
	if l, e := &lines[2], &exports[2]; !e.Bot || string(l.Target) != "/bot?utm_source=newsletter" {
		t.Errorf("%+v %+v", l, e)
	}
	if b := refused[6]; b == nil || b.Reason != BadTime || !strings.Contains(b.Detail, `column date: "31/12/2024"`) {
		t.Errorf("line 6, after a record of two lines: %v", refused)
	}
	if b := refused[7]; b == nil || b.Reason != CutOff || !strings.Contains(b.Detail, "3 columns, want 14") {
		t.Errorf("line 7: %v", refused)
	}
	lines, _, _ = readAll(t, goat1+"/old,T,false,0,17,true,,,"+agent1+",,FR,2020-03-01T10:00:00Z\n")
	if len(lines) != 1 || string(lines[0].Agent) != agent1 || !lines[0].HasAgent || lines[0].Export.Country != "FR" {
		t.Errorf("version 1: %+v", lines)
	}
	_, _, refused = readAll(t, "9"+goat2[1:]+"/a,,false,,,,1,0,,,,,true,2024-03-01T10:00:00Z\n")
	if b := refused[2]; b == nil || !strings.Contains(b.Detail, `version "9"`) {
		t.Errorf("an unknown version: %v", refused)
	}
}

func TestUmamiExports(t *testing.T) {
	lines, exports, refused := readAll(t, strings.ReplaceAll(umami, ",", ";")+
		"w;s-1;v;e1;www.example.com;chrome;Windows 10;laptop;1920x1080;de-DE;DE;DE-BY;Munich;/pricing;utm_source=news;/search;q=1;www.google.com;Prices;1;;2024-05-01 12:34:56\n"+
		"w;s-1;v;e2;www.example.com;ios;iOS;mobile;390x844;en;US;US-CA;;/pricing;;;;;;2;signup;2024-05-01 12:35:00.123\n"+
		"w;s-1;v;e3;h;;;;;;;;;/;;;;;;7;;2024-05-01 12:35:00\n"+
		"w;s-1;v;e4;h;;;;;;;;;/;;;;;;2;;2024-05-01 12:35:00\n")
	if len(lines) != 2 {
		t.Fatalf("%d hits, refused %v", len(lines), refused)
	}
	if l, e := &lines[0], &exports[0]; string(l.Target) != "/pricing?utm_source=news" || string(l.Host) != "www.example.com" || string(l.Client) != "s-1" ||
		string(l.Referrer) != "https://www.google.com/search?q=1" || at(l) != "2024-05-01T12:34:56Z" || e.Browser != "Chrome" || e.OS != "Windows" || e.OSVersion != "10" ||
		e.Device != "desktop" || e.Country != "DE" || e.RegionCode != "DE-BY" || e.City != "Munich" || e.Title != "Prices" || e.Language != "de-DE" {
		t.Errorf("%+v %+v", l, e)
	}
	if e := &exports[1]; e.Event != "signup" || e.Browser != "Mobile Safari" || e.Device != "mobile" {
		t.Errorf("%+v", e)
	}
	if refused[4].Reason != NoHit || refused[5].Reason != BadColumn {
		t.Errorf("refused: %v", refused)
	}
	_, _, refused = readAll(t, strings.Replace(umami, "created_at", "created", 1)+"w,s\n")
	if b := refused[2]; b == nil || b.Reason != BadColumn || !strings.Contains(b.Detail, "column created_at is missing") {
		t.Errorf("a wrong column name: %v", refused)
	}
}

func TestGA4Exports(t *testing.T) {
	event := func(name, params string) string {
		return `{"event_date":"20240501","event_timestamp":"1714566896123456","event_name":"` + name + `","event_params":[` + params + `],"user_pseudo_id":"12.34",` +
			`"device":{"category":"mobile","operating_system":"Android","operating_system_version":"Android 14","language":"pt-br","web_info":{"browser":"Chrome","browser_version":"124.0"}},` +
			`"geo":{"country":"Czechia","region":"Prague","city":"(not set)"}}` + "\n"
	}
	location := `{"key":"page_location","value":{"string_value":"https://www.example.com/a?utm_source=x"}},{"key":"page_referrer","value":{"string_value":"https://google.com/"}}`
	lines, exports, refused := readAll(t, event("session_start", location)+event("page_view", location+`,{"key":"page_title","value":{"string_value":"A"}}`)+
		event("purchase", location+`,{"key":"value","value":{"double_value":12.5}},{"key":"ga_session_id","value":{"int_value":"99"}}`)+
		event("user_engagement", location+`,{"key":"engagement_time_msec","value":{"int_value":"4200"}}`)+event("page_view", "")+
		strings.Replace(event("page_view", location), `"1714566896123456"`, `"soon"`, 1)+"{\"event_timestamp\":1,\"event_name\":\n")
	if len(lines) != 3 || len(refused) != 4 {
		t.Fatalf("%d hits, refused %v", len(lines), refused)
	}
	if l, e := &lines[0], &exports[0]; string(l.Host) != "www.example.com" || string(l.Target) != "/a?utm_source=x" || at(l) != "2024-05-01T12:34:56Z" || string(l.Client) != "12.34" ||
		e.Country != "CZ" || e.Region != "Prague" || e.City != "" || e.Browser != "Chrome" || e.BrowserVersion != "124.0" || e.OS != "Android" || e.Device != "mobile" || e.Title != "A" {
		t.Errorf("%+v %+v", l, e)
	}
	if e := &exports[1]; e.Event != "purchase" || e.Props["value"] != "12.5" || len(e.Props) != 1 {
		t.Errorf("%+v", e)
	}
	if e := &exports[2]; !e.Engagement || e.EngagedMs != 4200 {
		t.Errorf("%+v", e)
	}
	for number, want := range map[int64]Reason{1: NoHit, 5: NoHit, 6: BadTime, 7: BadJSON} {
		if refused[number] == nil || refused[number].Reason != want {
			t.Errorf("line %d: %v, want %s", number, refused[number], want)
		}
	}
}

func TestCountriesByName(t *testing.T) {
	for name, want := range map[string]string{"Germany": "DE", "United States": "US", "United Kingdom": "GB", "Türkiye": "TR", "Turkey": "TR", "South Korea": "KR", "Russia": "RU",
		"Vietnam": "VN", "Hong Kong": "HK", "Taiwan": "TW", "Netherlands": "NL", "Côte d’Ivoire": "CI", "Bosnia & Herzegovina": "BA", "Atlantis": "", "": "", "(not set)": ""} {
		if got := countryOf(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestTablesOfSumsAreRefusedWithWords(t *testing.T) {
	_, _, refused := readAll(t, "date,visitors,pageviews,bounces,visits,visit_duration\n2024-01-01,5,7,1,3,90\n")
	if b := refused[2]; b == nil || b.Reason != Totals || b.Detail == "" {
		t.Errorf("refused: %v", refused)
	}
}

// FuzzExports: whatever a table or an event holds, it is a hit or has a reason.
func FuzzExports(f *testing.F) {
	f.Add(goat2 + "/a,\"x\ny\",false,,Firefox 1,Windows 11,1,0,e.org,h,\"1,2,3\",DE,true,2024-03-01T10:00:00Z\n")
	f.Add(umami + "w,s,v,e,h,chrome,os,d,1x1,de,DE,DE-BE,c,/p,q,r,,d,t,1,n,2024-05-01 12:34:56\n")
	f.Add(`{"event_timestamp":"1","event_name":"page_view","event_params":[{"key":"page_location","value":{"string_value":"https://a/"}}]}`)
	f.Add("date;visitors\n\"1\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, _, _ := readAll(t, text)
		for _, l := range lines {
			if e := l.Export; e != nil && (len(e.Country) != 0 && len(e.Country) != 2 || e.EngagedMs < 0) {
				t.Fatalf("%+v %+v", l, e)
			}
		}
	})
}
