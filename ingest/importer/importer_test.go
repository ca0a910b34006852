package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestFieldsOfAFormat(t *testing.T) {
	for _, test := range []struct {
		name, line string
		want       Line
	}{
		{"common", `1.2.3.4 - ann [25/Oct/2025:23:30:26 +0200] "GET /a?b=c HTTP/1.1" 200 5`,
			Line{Client: []byte("1.2.3.4"), TimeMs: 1761427826000, Method: []byte("GET"), Target: []byte("/a?b=c"), Status: 200}},
		{"combined", `::1 - - [25/Oct/2025:23:30:26 +0200] "POST / HTTP/2.0" 404 - "http://a.example/\"" "A \"q\" \x41"`,
			Line{Client: []byte("::1"), TimeMs: 1761427826000, Method: []byte("POST"), Target: []byte("/"), Status: 404, Referrer: []byte(`http://a.example/"`), Agent: []byte(`A "q" A`), HasAgent: true}},
		{"virtual host", `a.example:443 1.2.3.4 - - [25/Oct/2025:21:30:26 +0000] "GET / HTTP/1.1" 200 5 "-" "-"`,
			Line{Client: []byte("1.2.3.4"), Host: []byte("a.example:443"), TimeMs: 1761427826000, Method: []byte("GET"), Target: []byte("/"), Status: 200, HasAgent: true}},
		{"TLS", `1.2.3.4 - - [25/Oct/2025:21:30:26 +0000] "\x16\x03\x01" 400 226 "-" "-"`,
			Line{Client: []byte("1.2.3.4"), TimeMs: 1761427826000, Status: 400, HasAgent: true}},
		{"nginx", `{"time_iso8601":"2025-10-25T23:30:26+02:00","msec":"1761427826.250","remote_addr":"1.2.3.4","request_method":"GET","request_uri":"/a","status":"200","http_referer":"","http_user_agent":"UA","host":"a.example"}`,
			Line{Client: []byte("1.2.3.4"), Host: []byte("a.example"), TimeMs: 1761427826000, Method: []byte("GET"), Target: []byte("/a"), Status: 200, Agent: []byte("UA"), HasAgent: true}},
		{"nginx with a request line", `{"time_local":"25/Oct/2025:23:30:26 +0200","remote_addr":"10.0.0.1","http_x_forwarded_for":"1.2.3.4, 10.0.0.2","request":"GET /a?x HTTP/1.1","status":200}`,
			Line{Client: []byte("1.2.3.4"), TimeMs: 1761427826000, Method: []byte("GET"), Target: []byte("/a?x"), Status: 200}},
		{"Caddy", `caddy | {"ts":1761427826.5,"msg":"handled request","request":{"remote_ip":"10.0.0.1","client_ip":"1.2.3.4","method":"GET","host":"a.example","uri":"/a","headers":{"User-Agent":["UA"],"Referer":["https://b.example/"]}},"status":200}`,
			Line{Client: []byte("1.2.3.4"), Host: []byte("a.example"), TimeMs: 1761427826500, Method: []byte("GET"), Target: []byte("/a"), Status: 200, Agent: []byte("UA"), HasAgent: true, Referrer: []byte("https://b.example/")}},
		{"path and query apart", `{"time":1761427826,"ip":"1.2.3.4","method":"GET","path":"/a","query_string":"b=c","status":200}`,
			Line{Client: []byte("1.2.3.4"), TimeMs: 1761427826000, Method: []byte("GET"), Target: []byte("/a?b=c"), Status: 200}},
	} {
		var p Parser
		var got Line
		if err := p.Parse([]byte(test.line), &got); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if string(got.Client) != string(test.want.Client) || string(got.Host) != string(test.want.Host) || got.TimeMs != test.want.TimeMs ||
			string(got.Method) != string(test.want.Method) || string(got.Target) != string(test.want.Target) || got.Status != test.want.Status ||
			string(got.Referrer) != string(test.want.Referrer) || string(got.Agent) != string(test.want.Agent) || got.HasAgent != test.want.HasAgent {
			t.Errorf("%s: got %+v", test.name, got)
		}
	}
}

func TestTheReasonIsFromTheList(t *testing.T) {
	for line, want := range map[string]Reason{
		"": BlankLine, "   \r": BlankLine, "#x": Comment, "garbage": UnknownFormat, `{"a":1}`: NoAccess, `{"a":`: BadJSON, `{"a"}`: BadJSON,
		`{"status":200,"uri":"/"}`: BadTime, `{"status":200,"uri":"/","time":"yesterday"}`: BadTime,
		`1.2.3.4 - - [25/Oct/2025:23:30:26 +0200] GET / 200`: BadRequest, `1.2.3.4 - - [yesterday] "GET / HTTP/1.1" 200 1`: BadTime,
		`1.2.3.4 - - [25/Oct/2025:23:30:26 +0200`: CutOff,
	} {
		var p Parser
		var l Line
		var bad *Bad
		if err := p.Parse([]byte(line), &l); !errors.As(err, &bad) || bad.Reason != want {
			t.Errorf("%q: got %v, want %s", line, err, want)
		}
	}
}

func TestLinesOfAnyStream(t *testing.T) {
	text := "one\n\r\nthree" + strings.Repeat("x", 3000) + "\nfour"
	var gz, zst bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	z, _ := zstd.NewWriter(&zst)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	for name, data := range map[string]string{"plain": text, "with a mark": "\xef\xbb\xbf" + text, "gzip": gz.String(), "zstd": zst.String()} {
		r, err := NewReader(strings.NewReader(data), 1000)
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for {
			line, number, tooLong, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(name, err)
			}
			if tooLong != (number == 3) || int(number) != len(got)+1 {
				t.Errorf("%s: line %d: too long %v", name, number, tooLong)
			}
			got = append(got, string(line[:min(len(line), 5)]))
		}
		r.Close()
		if strings.Join(got, "|") != "one|\r|three|four" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	broken, err := NewReader(strings.NewReader(gz.String()[:gz.Len()-10]), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, _, _, err = broken.Next()
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut gzip ends like a whole one: %v", err)
	}
}

func TestAssetsAreNoPages(t *testing.T) {
	for path, want := range map[string]bool{"/": false, "/a.html": false, "/app.js": true, "/a.b/c": false, "/IMG.PNG": true, "/v1.2": false, "/robots.txt": true, "/x.php": false} {
		if got := IsAsset(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// FuzzParse: no panic; a line that parses has a time, and its fields lie within bounds.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`1.2.3.4 - - [25/Oct/2025:23:30:26 +0200] "GET /a\x41 HTTP/1.1" 200 5 "-" "UA\""`))
	f.Add([]byte(`x {"ts":1.5,"request":{"uri":"/","headers":{"User-Agent":["a"]}},"status":1,"args":"b"}`))
	f.Add([]byte(`"a [00/Jan/0000:00:00:00 +9999] "" - `))
	f.Fuzz(func(t *testing.T, line []byte) {
		var p Parser
		var l Line
		if err := p.Parse(line, &l); err != nil {
			var bad *Bad
			if !errors.As(err, &bad) || bad.Reason == "" {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		if l.Status < 0 || l.Status > 999 || len(l.Target) > 2*len(line)+1 {
			t.Fatalf("%+v", l)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte(`2a02:e247:ffff:ffff:ffff:ffff:ffff:ffff - - [25/Oct/2025:23:30:26 +0200] "GET /blog/2026/hello-world HTTP/2.0" 200 69124 "android-app://com.google.android.gm/" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/135.0.0.0 Safari/537.36 OPR/120.0.0.0"`)
	var p Parser
	var l Line
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Parse(line, &l); err != nil {
			b.Fatal(err)
		}
	}
}
