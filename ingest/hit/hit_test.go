package hit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func full() Hit {
	return Hit{
		Version: Version, ID: ID{Source: "n1-2026", Seq: 300}, ClientID: "c0001", SiteID: 7, Site: "shop.example.com",
		TimeMs: 1770109257000, ReceivedMs: 1770109257123, Kind: Click, Name: "Purchase", Visitor: 0x0102030405060708,
		VisitorNext: 9, Host: "s.example.com", Path: "/café", Query: "a=1&b=%26", Fragment: "top", Title: "party 😚",
		Referrer: "https://t.co/x", RefHost: "t.co", Link: "spring", Dest: "https://shop.example.com/spring", Country: "GB",
		Region: "England", City: "London", Agent: "Mozilla/5.0 (X11; Linux x86_64)", Hints: map[string]string{"sec-ch-ua-mobile": "?0"},
		Browser: "Chrome", BrowserVersion: "138", OS: "Linux", OSVersion: "6", Device: "desktop", Bot: true, BotKind: "agent",
		Status: 304, Props: map[string]string{"plan": "gold", "author": "Ann", "empty": ""},
		Campaign: Campaign{Source: "s", Medium: "m", Name: "n", Term: "t", Content: "c"},
		Revenue:  Revenue{Currency: "EUR", Amount: "19.90"}, ScrollPercent: 62, EngagedMs: 14873, NonInteractive: true, RegionCode: "GB-ENG", ASN: 15169, ASName: "Google LLC",
		ClickID: "gclid", Language: "pt-BR", ScreenWidth: 1440,
	}
}

func TestEncodingIsAsCommitted(t *testing.T) {
	small := Hit{Version: Version, SiteID: 1, Site: "a.example", TimeMs: -1, Kind: Pageview, Path: "/"}
	every := full()
	for name, h := range map[string]*Hit{"small": &small, "full": &every} {
		got := hex.EncodeToString(Append(nil, h)) + "\n"
		file := filepath.Join("testdata", name+".hex")
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
			t.Errorf("%s: the bytes differ from %s: this breaks readers of stored hits\ngot  %swant %s", name, file, got, want)
		}
	}
}

func TestEveryFieldSurvives(t *testing.T) {
	want := full()
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() && v.Field(i).IsZero() {
			t.Errorf("the test does not fill %s", v.Type().Field(i).Name)
		}
	}
	data := Append(nil, &want)
	var got, borrowed Hit
	if err := Parse(data, &got); err != nil {
		t.Fatal(err)
	}
	if err := Borrow(data, &borrowed); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(borrowed, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var fromJSON Hit
	text, err := json.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromJSON, want) {
		t.Errorf("through JSON: got %+v", fromJSON)
	}
}

func TestParsedTextDoesNotShareTheInput(t *testing.T) {
	h := full()
	data := Append(nil, &h)
	var got Hit
	if err := Parse(data, &got); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if got.Site != h.Site || got.Props["plan"] != "gold" {
		t.Error("clearing the input changed the hit")
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	h := full()
	data := Append(nil, &h)
	data = append(data, 0xba, 0x06, 3, 'n', 'e', 'w') // field 103, text
	data = append(data, 0xc0, 0x06, 5)                // field 104, varint
	data = append(data, 0xcd, 0x06, 1, 2, 3, 4)       // field 105, fixed32
	var got Hit
	if err := Parse(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, h) {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsNotAHitIsRefused(t *testing.T) {
	h := full()
	whole := Append(nil, &h)
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("hello, world"), "JSON": []byte(`{"n":"pageview"}`), "cut": whole[:len(whole)-1],
		"no site": {8, 1}, "huge length": {8, 1, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		var got Hit
		if err := Parse(data, &got); !errors.Is(err, ErrNotHit) {
			t.Errorf("%s: got %v, want ErrNotHit", name, err)
		}
	}
}

func TestBadUTF8BecomesReplacementCharacters(t *testing.T) {
	h := Hit{SiteID: 1, Agent: "a\xffb", Props: map[string]string{"k\xfe": "v\xfd"}}
	data := Append(nil, &h)
	var got Hit
	if err := Parse(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Agent != "a\uFFFDb" || got.Props["k\uFFFD"] != "v\uFFFD" {
		t.Errorf("got %+v", got)
	}
}

func TestSchemaNamesEveryFieldNumber(t *testing.T) {
	numbers := map[int]bool{}
	body, _, _ := strings.Cut(Schema(), "enum Kind")
	for _, m := range regexp.MustCompile(`= (\d+);`).FindAllStringSubmatch(body, -1) {
		n, _ := strconv.Atoi(m[1])
		if numbers[n] {
			t.Errorf("field number %d is used twice", n)
		}
		numbers[n] = true
	}
	for n := int(fVersion); n <= int(fASName); n++ {
		if !numbers[n] {
			t.Errorf("hit.proto lacks field %d", n)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	h := full()
	h.Props, h.Hints = nil, nil
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buf = Append(buf[:0], &h) }); n != 0 {
		t.Errorf("Append: %v allocations", n)
	}
	var out Hit
	if n := testing.AllocsPerRun(100, func() { _ = Parse(buf, &out) }); n != 1 {
		t.Errorf("Parse: %v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { _ = Borrow(buf, &out) }); n != 0 {
		t.Errorf("Borrow: %v allocations, want 0", n)
	}
}

// FuzzParse: no panic on any bytes; what parses is written and parsed again to the same hit, and the second writing gives the same bytes.
func FuzzParse(f *testing.F) {
	h := full()
	f.Add(Append(nil, &h))
	f.Add([]byte{8, 1, 40, 1})
	f.Add([]byte("not a hit"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second Hit
		if Parse(data, &first) != nil {
			return
		}
		bytes := Append(nil, &first)
		if err := Parse(bytes, &second); err != nil {
			t.Fatalf("what Append wrote does not parse: %v", err)
		}
		if again := Append(nil, &second); string(again) != string(bytes) {
			t.Fatalf("not stable:\n%x\n%x", bytes, again)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	h := full()
	h.Props, h.Hints = nil, nil
	b.ReportAllocs()
	buf := make([]byte, 0, 1024)
	for b.Loop() {
		buf = Append(buf[:0], &h)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkBorrow(b *testing.B) {
	h := full()
	h.Props, h.Hints = nil, nil
	buf := Append(nil, &h)
	b.ReportAllocs()
	for b.Loop() {
		var out Hit
		_ = Borrow(buf, &out)
	}
}

// TestSharedAgentsGiveTheSameBytes: fields that were encoded once are what each hit would have written.
func TestSharedAgentsGiveTheSameBytes(t *testing.T) {
	h := full()
	h.Hints = nil
	want := Append(nil, &h)
	h.SetAgent(h.EncodeAgent())
	if got := Append(nil, &h); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	h.Hints = map[string]string{"sec-ch-ua-mobile": "?1"}
	shared := Append(nil, &h)
	h.SetAgent(nil)
	if got := Append(nil, &h); !bytes.Equal(got, shared) {
		t.Error("hints were lost")
	}
}
