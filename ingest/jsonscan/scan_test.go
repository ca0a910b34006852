package jsonscan

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
)

// decode collects the members of one object that fills data.
func decode(data []byte) (map[string]Value, error) {
	members := map[string]Value{}
	rest, err := Object(data, func(key []byte, v Value) error {
		members[string(key)] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !Blank(rest) {
		return nil, errors.New("something follows the object")
	}
	return members, nil
}

func TestMembersAreFoundInAnyShape(t *testing.T) {
	got, err := decode([]byte(" {\"a\":\"x\\u00e9\\ud83d\\ude00\\n\" , \"b\" : -1.5e3,\"c\":null,\"d\":{\"e\":[1,{\"f\":\"}\"}]},\"g\":true,\"h\":[],\"i\":\"12\",\"\\u006a\":7}\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for key, v := range got {
		text[key] = v.Text()
	}
	want := map[string]string{"a": "xé😀\n", "b": "-1.5e3", "c": "", "d": `{"e":[1,{"f":"}"}]}`, "g": "true", "h": "[]", "i": "12", "j": "7"}
	if !maps.Equal(text, want) {
		t.Errorf("got %q", text)
	}
	if n, ok := got["i"].Int(); !ok || n != 12 {
		t.Errorf("a number in quotes: %d, %v", n, ok)
	}
	if !got["g"].True() || got["g"].False() {
		t.Error("true is not true")
	}
}

func TestCutInputIsToldFromBadInput(t *testing.T) {
	whole := `{"n":"page\u00e9view","u":{"a":[1,2.5,true,null]},"e":1}`
	for i := range len(whole) {
		if _, err := decode([]byte(whole[:i])); !errors.Is(err, ErrCut) {
			t.Errorf("cut after %q: %v", whole[:i], err)
		}
	}
	for _, bad := range []string{"not json", "{'a':1}", `{"a":01}`, `{"a":"\x"}`, "{\"a\":\"\n\"}", `{"a" 1}`, `{a:1}`, `{"a":1,}`, `[]`, `null`, `42`, `{"a":tru}`} {
		if _, err := decode([]byte(bad)); err == nil || errors.Is(err, ErrCut) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"
	if _, err := decode([]byte(deep)); err == nil {
		t.Error("100,000 levels were taken")
	}
}

func TestElementsComeInOrder(t *testing.T) {
	var got []string
	rest, err := Array([]byte(" [1, \"two\" ,{\"three\":3}] tail"), func(v Value) error {
		got = append(got, v.Text())
		return nil
	})
	if err != nil || string(rest) != " tail" || strings.Join(got, "|") != `1|two|{"three":3}` {
		t.Errorf("got %q, rest %q, %v", got, rest, err)
	}
}

func TestScanningAllocatesNothing(t *testing.T) {
	data := []byte(`{"n":"pageview","u":"https://shop.example.com/","d":"shop.example.com","p":{"a":1}}`)
	total := 0
	if n := testing.AllocsPerRun(100, func() {
		_, _ = Object(data, func(key []byte, v Value) error { total += len(key) + len(v.Bytes()); return nil })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzObject: what encoding/json takes as an object, Object takes with the same keys and strings, and the other way round.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":"x\u00e9","b":[1,{"c":null}],"d":-0.1e-2}`))
	f.Add([]byte(`{"a":"\ud800","b":"\ud800\u0041","a":2} `))
	f.Add([]byte("{\"\xff\":\"\xfe\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data)
		var want map[string]any
		isObject := json.Unmarshal(data, &want) == nil && want != nil
		if err == nil != isObject {
			if err != nil && strings.Contains(err.Error(), "nested deeper") {
				return
			}
			t.Fatalf("Object says %v, encoding/json says %v", err, isObject)
		}
		for key, v := range got {
			if s, ok := want[strings.ToValidUTF8(key, "\uFFFD")].(string); ok && v.Kind == KindString {
				if strings.ToValidUTF8(v.Text(), "") != strings.ReplaceAll(s, "\uFFFD", "") && !strings.Contains(s, "\uFFFD") {
					t.Fatalf("key %q: got %q want %q", key, v.Text(), s)
				}
			}
		}
	})
}

func BenchmarkClick(b *testing.B) {
	data := []byte(`{"id":"c0000","ts":"2026-02-03T09:00:00Z","link":"spring","host":"s.example.com","dest":"https://shop.example.com/spring","ip":"81.2.69.142","ua":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36","ref":""}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_, _ = Object(data, func(key []byte, v Value) error { n += len(v.Raw); return nil })
	}
}

// TestPlainMembersAreReadAsAllOthers: the short way gives what the long one gives, whatever stands between.
func TestPlainMembersAreReadAsAllOthers(t *testing.T) {
	for _, text := range []string{
		`{"a":"1","b":"2"}`, `{"a": "1", "b": "2"}`, `{ "a" : "1" , "b":"2" }`, "{\n\t\"a\":\n\"1\",\n\"b\":\"2\"\n}", `{"\u0061":"1","b":"\u0032"}`,
		`{"a":"1",  "b":  "2"}`,
	} {
		got, err := decode([]byte(text))
		if err != nil || len(got) != 2 || got["a"].Text() != "1" || got["b"].Text() != "2" {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"a":"1",}`, `{"a":"1" "b":"2"}`, `{"a":"1","b"}`, `{"a":"1`, `{"a":`, `{"a"`, `{"a": `, `{"a": "`, "{\"a\":\"1\n\"}", "{\"a\n\":\"1\"}", `{"a":"1"`, `{"a":"\x"}`} {
		if got, err := decode([]byte(text)); err == nil {
			t.Errorf("%s was taken as %v", text, got)
		}
	}
}
