package bucket

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() *Cell {
	return &Cell{
		ID:   ID{SiteID: 7, Generation: 1, Window: "hour", Start: 1761436800, Offset: 7200, Partition: 3, Report: "country"},
		Site: "example.com", FoldedTo: 40, SourceTo: 1200,
		Rows: []Row{
			{Key: "DE", Counts: Counts{Hits: 5, Bots: 1, Pageviews: 4, Visits: 3, Bounces: -1, DurationMs: 95_000, EngagedMs: 61_000, ScrollSum: 140, ScrollViews: 2}, Visitors: 3, Sketch: []byte{1, 1, 0, 0, 0, 0, 0, 0, 0}},
			{Key: "??", Counts: Counts{Hits: 1 << 60, Bots: 1 << 60}},
		},
	}
}

func linked() *Cell {
	c := sample()
	c.Link, c.Shard, c.Offset, c.Window, c.Report = "a|b \"quoted\" \u2028\x00\x7f é", 2, 0, "minute", "referrer"
	c.Rows = []Row{{Key: "line\nbreak\\ <script>&amp;", Counts: Counts{Hits: 1, Clicks: 1}}, {Key: ""}}
	return c
}

func TestEncodingIsAsCommitted(t *testing.T) {
	progress := &Progress{Window: "day", Partition: 3, FoldedTo: 17, SourceTo: 300, ReceivedMs: 1770109257123}
	files := map[string]string{
		"progress": string(progress.AppendKey(nil)) + "\n" + string(progress.AppendJSON(nil)) + "\n",
	}
	generation := &Generation{Window: "hour", SiteID: 7, Generation: 2, Partition: 3, FoldedTo: 40}
	files["generation"] = string(generation.AppendKey(nil)) + "\n" + string(generation.AppendJSON(nil)) + "\n"
	for name, c := range map[string]*Cell{"cell": sample(), "linked": linked()} {
		files[name] = strconv.Quote(string(c.AppendKey(nil))) + "\n" + string(c.AppendJSON(nil)) + "\n" + strconv.Quote(string(c.AppendRows(nil))) + "\n"
	}
	for name, got := range files {
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: differs from %s: this breaks readers of stored cells\ngot\n%swant\n%s", name, file, got, want)
		}
	}
}

func TestEveryFieldSurvives(t *testing.T) {
	var got Cell
	for _, want := range []*Cell{sample(), linked(), sample()} {
		if err := got.ParseJSON(want.AppendJSON(nil)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("got  %+v\nwant %+v", &got, want)
		}
		id, err := ParseKey(want.AppendKey(nil))
		id.Window = want.Window
		if err != nil || id != want.ID {
			t.Errorf("key: %+v, %v, want %+v", id, err, want.ID)
		}
		rows := ReadRows(want.AppendRows(nil))
		for i := 0; rows.Next(); i++ {
			r := rows.Row
			r.Key = string(rows.Key)
			if len(r.Sketch) == 0 {
				r.Sketch = nil
			}
			if !reflect.DeepEqual(r, want.Rows[i]) {
				t.Errorf("row %+v, want %+v", r, want.Rows[i])
			}
		}
		if rows.Err() != nil || rows.seen != len(want.Rows) || rows.FoldedTo != 40 || rows.Offset != want.Offset || rows.SourceTo != 1200 {
			t.Errorf("rows: %v, %d seen", rows.Err(), rows.seen)
		}
	}
}

// TestRowsWithoutVisitsAreRead: tables that were written before rows had anything of visits.
func TestRowsWithoutVisitsAreRead(t *testing.T) {
	rows := ReadRows([]byte("\x01(\xb0\t\xc0p\x02\x02DE\x05\x01\x04\x00\x00\x03\t\x01\x01\x00\x00\x00\x00\x00\x00\x00\x02??\x80\x80\x80\x80\x80\x80\x80\x80\x10\x80\x80\x80\x80\x80\x80\x80\x80\x10\x00\x00\x00\x00\x00"))
	var got []Counts
	for rows.Next() {
		got = append(got, rows.Row.Counts)
	}
	if want := []Counts{{Hits: 5, Bots: 1, Pageviews: 4}, {Hits: 1 << 60, Bots: 1 << 60}}; rows.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, rows.Err(), want)
	}
}

func TestTheTwoHoursOfOneNameHaveTwoKeys(t *testing.T) {
	a, b := sample(), sample()
	b.Start, b.Offset = a.Start+3600, 3600
	ka, kb := string(a.AppendKey(nil)), string(b.AppendKey(nil))
	if ka != "g1|7|2025-10-26T02:00:00+02:00|p3|country|" || kb != "g1|7|2025-10-26T02:00:00+01:00|p3|country|" {
		t.Errorf("keys %s and %s", ka, kb)
	}
}

// TestValueIsPlainJSON: the value reads the same with the standard library, as scripts of strangers do it.
func TestValueIsPlainJSON(t *testing.T) {
	var doc struct {
		Link string `json:"link"`
		Rows map[string]struct {
			Hits, Humans, Bots, Visitors, Pageviews int64
			Sketch                                  string
		}
	}
	for _, c := range []*Cell{sample(), linked()} {
		if err := json.Unmarshal(c.AppendJSON(nil), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Link != c.Link && c.Link != "" {
			t.Errorf("link %q, want %q", doc.Link, c.Link)
		}
		for _, r := range c.Rows {
			got, ok := doc.Rows[r.Key]
			if !ok || got.Hits != r.Hits || got.Humans != r.Humans() || got.Sketch != base64.StdEncoding.EncodeToString(r.Sketch) {
				t.Errorf("row %q: %+v", r.Key, got)
			}
		}
	}
}

func TestValuesOfOtherWritersAreRead(t *testing.T) {
	const value = ` { "later" : [ {"x":[1,-2.5e3,null,true,"\""]} , [] ], "rows" : { "D\u0045" : { "sketch":"", "hits" : 2 , "new": {} } } ,
	"start":"2025-10-26T00:00:00Z","window":"day", "report":"country","site_id":7 } `
	var c Cell
	if err := c.ParseJSON([]byte(value)); err != nil {
		t.Fatal(err)
	}
	if len(c.Rows) != 1 || c.Rows[0].Key != "DE" || c.Rows[0].Hits != 2 || c.SiteID != 7 || c.Start != 1761436800 {
		t.Errorf("got %+v", c)
	}
}

func TestParseRefuses(t *testing.T) {
	var many strings.Builder
	for i := range MaxRows + 1 {
		many.WriteString(`,"` + strconv.Itoa(i) + `":{}`)
	}
	const head = `{"site_id":1,"window":"day","report":"page","rows":{`
	for name, value := range map[string]string{
		"nothing":        ``,
		"no object":      `[]`,
		"cut":            head,
		"rows missing":   `{"site_id":1,"window":"day","report":"page"}`,
		"site missing":   `{"window":"day","report":"page","rows":{}}`,
		"negative":       head + `"DE":{"hits":-1}}}`,
		"fraction":       head + `"DE":{"hits":1.5}}}`,
		"too large":      head + `"DE":{"hits":9223372036854775808}}}`,
		"leading zero":   head + `"DE":{"hits":01}}}`,
		"more bots":      head + `"DE":{"hits":1,"bots":2}}}`,
		"no base64":      head + `"DE":{"sketch":"%%"}}}`,
		"trailing":       head + `}} x`,
		"trailing comma": head + `},}`,
		"deep":           `{"x":` + strings.Repeat("[", 100000) + `}`,
		"too many rows":  head + many.String()[1:] + `}}`,
		"control":        "{\"site\":\"a\nb\"}",
		"bad escape":     `{"site":"\q"}`,
		"bare word":      `{"x":nul}`,
	} {
		if err := new(Cell).ParseJSON([]byte(value)); !errors.Is(err, ErrNotCell) {
			t.Errorf("%s: error %v, want ErrNotCell", name, err)
		}
	}
	for _, key := range []string{"", "g1|7", "x1|7|2025-10-26T02:00:00+02:00|p3|country|", "g01|7|2025-10-26T02:00:00+02:00|p3|country|",
		"g1|7|2025-10-26T02:00:00+02:00|p3|page.0|", "g1|7|yesterday|p3|page|", "g1|4294967296|2025-10-26T02:00:00Z|p3|page|"} {
		if _, err := ParseKey([]byte(key)); !errors.Is(err, ErrNotCell) {
			t.Errorf("key %q: error %v, want ErrNotCell", key, err)
		}
	}
	for _, value := range []string{`{}`, `{"window":"day","folded_to":1}`, `{"window":"day","folded_to":1,"source_to":2,"received":"now"}`} {
		if err := new(Progress).ParseJSON([]byte(value)); !errors.Is(err, ErrNotCell) {
			t.Errorf("progress %s: error %v, want ErrNotCell", value, err)
		}
	}
}

func TestProgressReadsBack(t *testing.T) {
	want := Progress{Window: "day", Partition: 3, FoldedTo: 17, SourceTo: 300, ReceivedMs: 1770109257123}
	var got Progress
	if err := got.ParseJSON(want.AppendJSON(nil)); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if !IsProgressKey(want.AppendKey(nil)) || IsProgressKey(sample().AppendKey(nil)) {
		t.Error("keys of progress and of cells are not told apart")
	}
}

func TestGenerationReadsBack(t *testing.T) {
	want := Generation{Window: "day", SiteID: 7, Generation: 2, Partition: 3, FoldedTo: 17}
	var got Generation
	if err := got.ParseJSON(want.AppendJSON(nil)); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if key := want.AppendKey(nil); !IsGenerationKey(key) || IsProgressKey(key) {
		t.Errorf("key %s", key)
	}
	if err := got.ParseJSON([]byte(`{"window":"day"}`)); !errors.Is(err, ErrNotCell) {
		t.Errorf("error %v", err)
	}
}

// FuzzParseJSON: no panic, no value that the standard library refuses; what is accepted is written again and read back the same.
func FuzzParseJSON(f *testing.F) {
	f.Add(sample().AppendJSON(nil))
	f.Add(linked().AppendJSON(nil))
	f.Add([]byte(`{"x":[1,{"y":"\ud800"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, back Cell
		if err := c.ParseJSON(data); err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted, and is not JSON: %q", data)
		}
		if c.Start < -62135596800 || c.Start > 253402300799 {
			return // years that RFC 3339 cannot write, by way of the offset
		}
		again := c.AppendJSON(nil)
		if err := back.ParseJSON(again); err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		if string(back.AppendJSON(nil)) != string(again) {
			t.Fatalf("%s became %s", again, back.AppendJSON(nil))
		}
	})
}

// FuzzKeys: no panic; a key that is accepted is written the same.
func FuzzKeys(f *testing.F) {
	f.Add(sample().AppendKey(nil))
	f.Add(linked().AppendKey(nil))
	f.Fuzz(func(t *testing.T, key []byte) {
		id, err := ParseKey(key)
		if err == nil && string(id.AppendKey(nil)) != string(key) {
			t.Fatalf("%q became %q", key, id.AppendKey(nil))
		}
	})
}

// FuzzRows: no panic and no end that is not reached; what is accepted whole is written again as the same bytes.
func FuzzRows(f *testing.F) {
	f.Add(sample().AppendRows(nil))
	f.Add(linked().AppendRows(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Cell
		rows := ReadRows(data)
		for rows.Next() {
			row := rows.Row
			row.Key = string(rows.Key)
			c.Rows = append(c.Rows, row)
		}
		if rows.Err() != nil {
			return
		}
		c.FoldedTo, c.SourceTo, c.Offset = rows.FoldedTo, rows.SourceTo, rows.Offset
		back := ReadRows(c.AppendRows(nil))
		for back.Next() {
		}
		if back.Err() != nil || back.seen != rows.seen {
			t.Fatalf("%v", back.Err())
		}
	})
}

func bigCell() *Cell {
	c := sample()
	c.Rows = nil
	for i := range MaxRows {
		c.Rows = append(c.Rows, Row{Key: "/page/" + strconv.Itoa(i), Counts: Counts{Hits: 50, Pageviews: 40}, Visitors: 12, Sketch: make([]byte, 97)})
	}
	return c
}

func BenchmarkAppendJSON(b *testing.B) {
	c := bigCell()
	var buf []byte
	b.ReportAllocs()
	for range b.N {
		buf = c.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkParseJSON(b *testing.B) {
	data := bigCell().AppendJSON(nil)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var c Cell
	for range b.N {
		if err := c.ParseJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRows(b *testing.B) {
	data := bigCell().AppendRows(nil)
	b.ReportAllocs()
	for range b.N {
		rows := ReadRows(data)
		for rows.Next() {
		}
	}
}
