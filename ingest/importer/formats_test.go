package importer

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const firefox = "Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:65.0) Gecko/20100101 Firefox/65.0"

func TestLinesOfBalancersAndClouds(t *testing.T) {
	for _, test := range []struct {
		name, header, line string
		want               Line
		at                 string
	}{
		{"application balancer", "", `h2 2018-07-02T22:23:00.186641Z app/my/50 [2001:db8::7]:2817 10.0.0.1:80 0.0 0.0 0.0 200 200 34 366 "GET https://www.example.com:443/a?b=1 HTTP/2.0" "` + firefox + `" X TLSv1.2 arn "Root=1" "www.example.com" "arn" 1 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
			Line{Client: b("2001:db8::7"), Method: b("GET"), Target: b("https://www.example.com:443/a?b=1"), Status: 200, Agent: b(firefox), HasAgent: true}, "2018-07-02T22:23:00.186Z"},
		{"application balancer without answer", "", `http 2018-07-02T22:23:00Z app/my/50 192.168.131.39:2817 - -1 -1 -1 - - 34 366 "- http://www.example.com:80- " "-" - - -`,
			Line{Client: b("192.168.131.39"), HasAgent: true}, "2018-07-02T22:23:00Z"},
		{"classic balancer", "", `2015-05-13T23:39:43.945958Z my-lb 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 0.000057 304 200 0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -`,
			Line{Client: b("192.168.131.39"), Method: b("GET"), Target: b("http://www.example.com:80/"), Status: 304, Agent: b("curl/7.38.0"), HasAgent: true}, "2015-05-13T23:39:43.945Z"},
		{"S3", "", `79a5 awsexamplebucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5 3E57427F3EXAMPLE WEBSITE.GET.OBJECT a%2520b.html "GET /a%20b.html HTTP/1.1" 200 - 113 113 7 6 "https://example.org/" "` + firefox + `" - s9lz SigV4 ECDHE AuthHeader awsexamplebucket1.s3.us-west-1.amazonaws.com TLSV1.2 - -`,
			Line{Client: b("192.0.2.3"), Host: b("awsexamplebucket1"), Method: b("GET"), Target: b("/a%20b.html"), Status: 200, Referrer: b("https://example.org/"), Agent: b(firefox), HasAgent: true}, "2019-02-06T00:00:38Z"},
		{"CloudFront with header", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query",
			"2014-05-23\t01:13:11\tFRA2\t182\t192.0.2.10\tGET\td1.cloudfront.net\t/view/my/file.html\t200\twww.displaymyfiles.com\tMozilla/4.0%20(compatible;%20MSIE%205.0b1;%20Mac_PowerPC)\t-",
			Line{Client: b("192.0.2.10"), Host: b("d1.cloudfront.net"), Method: b("GET"), Target: b("/view/my/file.html"), Status: 200, Referrer: b("www.displaymyfiles.com"), Agent: b("Mozilla/4.0 (compatible; MSIE 5.0b1; Mac_PowerPC)"), HasAgent: true}, "2014-05-23T01:13:11Z"},
		{"CloudFront, escaped twice", "#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent)", "2014-05-23\t01:13:11\t192.0.2.10\tGET\t/\t200\tMozilla/4.0%2520(a)",
			Line{Client: b("192.0.2.10"), Method: b("GET"), Target: b("/"), Status: 200, Agent: b("Mozilla/4.0 (a)"), HasAgent: true}, "2014-05-23T01:13:11Z"},
		{"IIS, IPv6, everything switched on, no header", "", `2013-07-28 02:34:09 W3SVC01 H 2001:db8::1 GET / - 80 - 2001:db8::6:1 HTTP/1.1 Mon+itor - - www.example.com 200 0 0 3446 96 0`,
			Line{Client: b("2001:db8::6:1"), Host: b("www.example.com"), Method: b("GET"), Target: b("/"), Status: 200, Agent: b("Mon itor"), HasAgent: true}, "2013-07-28T02:34:09Z"},
		{"IIS by default", "#Software: Microsoft Internet Information Services 10.0\n#Date: 2015-08-17 00:00:12\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken",
			`2015-08-17 00:00:13 10.0.0.1 GET /a.aspx id=1&x=2 443 - 192.0.2.44 Mozilla/5.0+(Windows+NT+10.0) https://example.org/ 200 0 0 15`,
			Line{Client: b("192.0.2.44"), Method: b("GET"), Target: b("/a.aspx?id=1&x=2"), Status: 200, Referrer: b("https://example.org/"), Agent: b("Mozilla/5.0 (Windows NT 10.0)"), HasAgent: true}, "2015-08-17T00:00:13Z"},
		{"day only in the header", "#Date: 2015-08-17 00:00:12\n#Fields: time c-ip cs-method cs-uri-stem sc-status", `00:00:13 192.0.2.44 GET / 200`,
			Line{Client: b("192.0.2.44"), Method: b("GET"), Target: b("/"), Status: 200}, "2015-08-17T00:00:13Z"},
		{"every field in quotes, another form of day in the header", "#Software: Incapsula LOGS API\n#Date: 20/Jan/2017 16:34:24\n#Fields: date time cs-vid c-ip cs(User-Agent) cs-uri cs(Referrer) cs-method cs-uri-query sc-status",
			`"2017-06-28" "07:26:35" "" "192.0.2.9" "` + firefox + `" "www.example.com/a" "" "GET" "x=1" "200"`,
			Line{Client: b("192.0.2.9"), Host: b("www.example.com"), Method: b("GET"), Target: b("/a?x=1"), Status: 200, Agent: b(firefox), HasAgent: true}, "2017-06-28T07:26:35Z"},
		{"HAProxy", "", `Feb 25 16:19:49 192.168.4.2 haproxy[7]: 192.0.2.7:53332 [25/Feb/2019:16:19:48.143] in~ bk/srv 0/0/7/1457/1487 200 11394 - - ---- 2/1/0/0/0 0/0 {` + firefox + `|https://example.org/|www.example.com} {} "GET /a?b=1 HTTP/1.1"`,
			Line{Client: b("192.0.2.7"), Host: b("www.example.com"), Method: b("GET"), Target: b("/a?b=1"), Status: 200, Referrer: b("https://example.org/"), Agent: b(firefox), HasAgent: true, Local: true}, "2019-02-25T16:19:48.143Z"},
		{"HAProxy, no answer, bad request", "", `[2001:db8::5]:1025 [14/Jan/2015:12:48:57.127] in bk/<NOSRV> -1/-1/-1/-1/3 -1 187 - - PR-- 0/0/0/0/0 0/0 "<BADREQ>"`,
			Line{Client: b("2001:db8::5"), Local: true}, "2015-01-14T12:48:57.127Z"},
		{"Envoy in a container", "", `2026-01-24T01:34:36.743000000+00:00 stdout F [2026-01-24T01:34:36.743Z] "GET /test HTTP/1.1" 200 - 0 256 50 25 "192.0.2.1, 10.0.0.1" "curl/8.10.1" "id" "example.com" "10.0.2.1:80"`,
			Line{Client: b("192.0.2.1"), Host: b("example.com"), Method: b("GET"), Target: b("/test"), Status: 200, Agent: b("curl/8.10.1"), HasAgent: true}, "2026-01-24T01:34:36.743Z"},
		{"Nginx Proxy Manager", "", `[24/Jan/2022:17:37:42 +0000] - 404 404 - GET https example.com "/sdfdsf" [Client 192.0.2.4] [Length 150] [Gzip -] [Sent-to 10.0.0.1] "` + firefox + `" "https://example.org/"`,
			Line{Client: b("192.0.2.4"), Host: b("example.com"), Method: b("GET"), Target: b("/sdfdsf"), Status: 404, Referrer: b("https://example.org/"), Agent: b(firefox), HasAgent: true}, "2022-01-24T17:37:42Z"},
		{"Zoraxy", "", `2025/05/01 07:57:03 [2025-05-01 07:57:03.150624] [router:host-http] [origin:test.example] [client: 192.0.2.5] [useragent: ` + firefox + `] POST /xmlrpc.php 404`,
			Line{Client: b("192.0.2.5"), Host: b("test.example"), Method: b("POST"), Target: b("/xmlrpc.php"), Status: 404, Agent: b(firefox), HasAgent: true, Local: true}, "2025-05-01T07:57:03.15Z"},
		{"Traefik's own form of the common format", "", `172.17.1.1 - - [28/Sep/2022:13:38:04 +0000] "GET /home HTTP/1.1" - - "-" "` + firefox + `" 45640 "-" "-" 0ms`,
			Line{Client: b("172.17.1.1"), Method: b("GET"), Target: b("/home"), Agent: b(firefox), HasAgent: true}, "2022-09-28T13:38:04Z"},
	} {
		var p Parser
		var l Line
		for header := range strings.SplitSeq(test.header, "\n") {
			var bad *Bad
			if err := p.Parse([]byte(header), &l); !errors.As(err, &bad) || bad.Reason != Comment && bad.Reason != BlankLine {
				t.Errorf("%s: header: %v", test.name, err)
			}
		}
		if err := p.Parse([]byte(test.line), &l); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := time.UnixMilli(l.TimeMs).UTC().Format(time.RFC3339Nano); got != test.at {
			t.Errorf("%s: time %s, want %s", test.name, got, test.at)
		}
		want := test.want
		if string(l.Client) != string(want.Client) || string(l.Host) != string(want.Host) || string(l.Method) != string(want.Method) || string(l.Target) != string(want.Target) ||
			l.Status != want.Status || string(l.Referrer) != string(want.Referrer) || string(l.Agent) != string(want.Agent) || l.HasAgent != want.HasAgent || l.Local != want.Local {
			t.Errorf("%s: got client %q host %q method %q target %q status %d referrer %q agent %q %v, local %v", test.name, l.Client, l.Host, l.Method, l.Target, l.Status, l.Referrer, l.Agent, l.HasAgent, l.Local)
		}
	}
}

func b(text string) []byte { return []byte(text) }

func TestLinesAboutNoRequestSaySo(t *testing.T) {
	for line, want := range map[string]Reason{
		`192.0.2.4:50033 [28/Feb/2025:02:43:10.123] frontend/backend: SSL handshake failure`:                              NoRequest,
		`192.0.2.4:50033 [28/Feb/2025:02:43:10.123] in bk/srv 0/0/5007 212 -- 0/0/0/0/3 0/0`:                              NoRequest,
		`Feb 25 16:19:38 192.168.4.2 haproxy[1]: Proxy prod_http_in started.`:                                             UnknownFormat,
		`79a5 bucket [06/Feb/2019:00:00:38 +0000] - AmazonS3 3E57427F3EXAMPLE S3.EXPIRE.OBJECT key - - - - 113 - - - - -`: NoRequest,
		`2013-07-28 02:34:09 one two three`:                                                                               UnknownFormat,
		`http 2018-07-02T22:23:00Z app/my/50`:                                                                             CutOff,
	} {
		var p Parser
		var l Line
		var bad *Bad
		if err := p.Parse([]byte(line), &l); !errors.As(err, &bad) || bad.Reason != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

// FuzzParseLog: no sequence of lines makes the parser fail other than by an error with a reason.
func FuzzParseLog(f *testing.F) {
	f.Add([]byte("#Date: 2015-08-17 00:00:12\n#Fields: time c-ip cs-uri-stem sc-status cs(User-Agent)\n00:00:13 ::1 / 200 %2520+%\n\"a\" \"b"))
	f.Add([]byte("h2 2018-07-02T22:23:00Z a [::1]:1 b 1 2 3 200 200 1 2 \"GET / HTTP/2\" \"-\"\n2014-05-23\t01:13:11\tx"))
	f.Add([]byte("a:1 [14/Jan/2015:12:48:57.127] in bk/s -1/-1/-1/-1/3 -1 1 - - ---- 0/0/0/0/0 0/0 {a|b/1} \"<BADREQ>"))
	f.Add([]byte("[24/Jan/2022:17:37:42 +0000] - 404 - GET https h \"/\" [Client 1] \"a\"\n[2016-04-15T20:17:00.310Z] \"GET / HTTP/2\" 204 - \"-\""))
	f.Fuzz(func(t *testing.T, log []byte) {
		var p Parser
		for line := range strings.SplitSeq(string(log), "\n") {
			var l Line
			if err := p.Parse([]byte(line), &l); err != nil {
				var bad *Bad
				if !errors.As(err, &bad) || bad.Reason == "" {
					t.Fatalf("an error without a reason: %v", err)
				}
			} else if l.Status < 0 || l.Status > 999 || len(l.Target) > 2*len(line)+1 || len(l.Agent) > len(line) {
				t.Fatalf("%+v", l)
			}
		}
	})
}
