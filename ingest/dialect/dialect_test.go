package dialect

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

func TestShortNamesWinOverLongOnes(t *testing.T) {
	for _, body := range []string{
		`{"n":"a","name":"b","u":"/x","url":"/y","d":"c","domain":"e","r":"f","referrer":"g","p":{"k":"1"},"props":{"k":"2"}}`,
		`{"name":"b","n":"a","url":"/y","u":"/x","domain":"e","d":"c","referrer":"g","r":"f","props":{"k":"2"},"p":{"k":"1"}}`,
	} {
		e, err := ParsePlausible([]byte(body))
		if err != nil || e.Name != "a" || e.URL != "/x" || e.Domain != "c" || e.Referrer != "f" || e.Props["k"] != "1" {
			t.Errorf("got %+v, %v", e, err)
		}
	}
}

func TestPropertiesAreKeptWithinLimits(t *testing.T) {
	e, err := ParsePlausible([]byte(`{"n":"a","u":"/","p":{"plan":"gold","empty":"","list":[1,2],"obj":{"a":1},"n":3,"t":true,"null":null,"":"x"}}`))
	if err != nil || len(e.Props) != 3 || e.Props["n"] != "3" || e.Props["t"] != "true" {
		t.Errorf("got %v, %v", e.Props, err)
	}
	var many strings.Builder
	for i := range 40 {
		many.WriteString(fmt.Sprintf(`,"k%d":1`, i))
	}
	if e, err := ParsePlausible([]byte(`{"n":"a","u":"/","p":{` + many.String()[1:] + `}}`)); err != nil || len(e.Props) != 30 || e.Props["k0"] != "1" {
		t.Errorf("got %d, %v", len(e.Props), err)
	}
	for _, props := range []string{`{"` + strings.Repeat("k", 301) + `":1}`, `{"a":"` + strings.Repeat("v", 2001) + `"}`, `[1]`, `5`, `"not json"`, `"{\"a\":1} x"`} {
		var field *FieldError
		if _, err := ParsePlausible([]byte(`{"n":"a","u":"/","p":` + props + `}`)); !errors.As(err, &field) || field.Field != "props" {
			t.Errorf("%.40s: got %v", props, err)
		}
	}
}

func TestMoneyThatMakesNoSenseIsLeftOut(t *testing.T) {
	for body, want := range map[string]hit.Revenue{
		`{"currency":"EUR","amount":"19.90"}`: {Currency: "EUR", Amount: "19.90"}, `{"currency":"usd","amount":5}`: {Currency: "USD", Amount: "5"},
		`"{\"currency\":\"EUR\",\"amount\":-3}"`: {Currency: "EUR", Amount: "-3"}, `{"currency":"EURO","amount":1}`: {}, `{"currency":"EUR","amount":"many"}`: {},
		`{"currency":"EUR","amount":"1e5"}`: {Currency: "EUR", Amount: "1e5"}, `[]`: {}, `null`: {},
	} {
		e, err := ParsePlausible([]byte(`{"n":"a","u":"/","$":` + body + `}`))
		if err != nil || e.Revenue != want {
			t.Errorf("%s: got %+v, %v", body, e.Revenue, err)
		}
	}
}

func TestEngagementsAreClamped(t *testing.T) {
	for body, want := range map[string][2]int64{
		`"sd":62,"e":14873`: {62, 14873}, `"sd":"62","e":"14873"`: {62, 14873}, `"sd":200`: {100, -1}, `"e":-5`: {-1, 0}, `"e":9999999999999`: {-1, 0}, `"sd":300,"e":1`: {-1, 1},
	} {
		e, err := ParsePlausible([]byte(`{"n":"engagement","u":"/",` + body + `}`))
		if err != nil || int64(e.ScrollPercent) != want[0] || e.EngagedMs != want[1] {
			t.Errorf("%s: got %d, %d, %v", body, e.ScrollPercent, e.EngagedMs, err)
		}
	}
}

func TestThePixelNeedsAPageOrASite(t *testing.T) {
	e, err := ParsePixel(url.Values{"d": {"a.example"}}, "")
	if err != nil || e.URL != "/" || e.Name != NamePageview {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := ParsePixel(url.Values{}, ""); err == nil {
		t.Error("nothing was taken")
	}
	if len(GIF) != 43 {
		t.Errorf("the picture has %d bytes", len(GIF))
	}
}

func TestTextsOfClicksMayBeEscaped(t *testing.T) {
	var c Click
	if err := ParseClick([]byte(`{"link":"caf\u00e9","ua":"a\"b","short_code":"","dest":"https:\/\/a.example\/"}`), &c); err != nil {
		t.Fatal(err)
	}
	if string(c.Link) != "café" || string(c.Agent) != `a"b` || string(c.Dest) != "https://a.example/" || !c.HasUA {
		t.Errorf("got %q", c.Link)
	}
}

// FuzzPlausible: no panic; errors are of the two kinds; what is taken is within the limits.
func FuzzPlausible(f *testing.F) {
	f.Add([]byte(`{"n":"pageview","u":"https://a.example/","p":"{\"a\":1}","$":{"currency":"EUR","amount":1},"sd":1,"e":"2"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParsePlausible(body)
		if err != nil {
			var field *FieldError
			var syntax *jsonscan.SyntaxError
			if !errors.As(err, &field) && !errors.As(err, &syntax) {
				t.Fatalf("got %T %v", err, err)
			}
			return
		}
		if e.Name == "" || e.URL == "" || len(e.Props) > maxProps || e.ScrollPercent > 100 || e.EngagedMs >= maxEngagedMs {
			t.Fatalf("got %+v", e)
		}
	})
}

// FuzzClick: no panic, and a click that is taken has a link and a time that makes sense.
func FuzzClick(f *testing.F) {
	f.Add([]byte(`{"id":"c1","ts":"2026-02-03T09:00:00Z","link":"spring","ip":"81.2.69.142","bot":true}`))
	f.Add([]byte(`{"link":5,"ts":1770000000.5}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var c Click
		if ParseClick(line, &c) == nil && (len(c.Link) == 0 || c.TimeMs != 0 && c.TimeMs < earliestMs) {
			t.Fatalf("got %+v", c)
		}
	})
}

// FuzzTime: what time.Parse takes as RFC 3339 is read as the same moment.
func FuzzTime(f *testing.F) {
	for _, text := range []string{"2026-02-03T09:00:00Z", "2024-02-29T23:59:59.999+05:30", "2026-10-25 02:30:00", "1770000000", "-1", "2026-02-02t03:00:00z"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseTimeText(text)
		want, parseErr := time.Parse(time.RFC3339, string(text))
		if parseErr != nil || want.UnixMilli() < earliestMs || strings.Contains(string(text), ",") {
			return
		}
		if _, offset := want.Zone(); offset > 18*3600 || offset < -18*3600 {
			return // no place on Earth
		}
		if err != nil || got != want.UnixMilli() {
			t.Fatalf("%s: got %d, %v, want %d", text, got, err, want.UnixMilli())
		}
	})
}

func BenchmarkClick(b *testing.B) {
	line := []byte(`{"id":"c0000","ts":"2026-02-03T09:00:00Z","link":"spring","host":"s.example.com","dest":"https://shop.example.com/spring","ip":"81.2.69.142","ua":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36","ref":""}`)
	var c Click
	b.ReportAllocs()
	for b.Loop() {
		if err := ParseClick(line, &c); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDaysAreCountedAsTheCalendarDoes(t *testing.T) {
	for at := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2800; at = at.AddDate(0, 0, 1) {
		if got, want := daysSinceEpoch(at.Year(), int(at.Month()), at.Day()), int(at.Unix()/86400); got != want {
			t.Fatalf("%s: got %d, want %d", at.Format(time.DateOnly), got, want)
		}
	}
}
