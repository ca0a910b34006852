package ingest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// startBench is start with a log that keeps nothing and a clock that moves.
func startBench(b *testing.B) *fixture {
	return start(b, func(c *Config) {
		c.Appender = discard{}
		c.Now = time.Now
		c.Limits = Limits{}
	}, "bench.example")
}

// benchAgents are as many as make nearly all hits of a site.
func benchAgents() (agents []string) {
	for i := range 100 {
		agents = append(agents, fmt.Sprintf("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36", 80+i))
	}
	return agents
}

func benchAddress(i int) string { return fmt.Sprintf("81.%d.%d.%d", 2+i%3, i/250%250, 1+i%250) }

// cpuTime returns how long this process has run. On a machine that others use it says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// nowhere is a ResponseWriter that keeps only its header.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(int)             {}

func benchRequest(path string, body []byte) (*http.Request, *bytes.Reader) {
	reader := bytes.NewReader(body)
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.RemoteAddr = "127.0.0.1:40000"
	r.ContentLength = int64(len(body))
	return r, reader
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// BenchmarkClicks is one batch of 1,000 clicks of 220 bytes, from the body to the log.
func BenchmarkClicks(b *testing.B) {
	f := startBench(b)
	agents := benchAgents()
	var body []byte
	const lines = 1000
	for j := range lines {
		body = fmt.Appendf(body, `{"ts":"%s","link":"spring-%d","site":"bench.example","dest":"https://bench.example/%d","ip":"%s","ua":"%s"}`+"\n",
			time.Now().UTC().Format(time.RFC3339Nano), j%50, j%64, benchAddress(j), agents[j%len(agents)])
	}
	r, reader := benchRequest("/api/clicks", body)
	r.Header.Set("Content-Type", "application/x-ndjson")
	w := &nowhere{http.Header{}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	began := cpuTime()
	for b.Loop() {
		reader.Reset(body)
		r.Body = nopCloser{reader}
		clear(w.header)
		f.handler.ServeHTTP(w, r)
	}
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N)/lines, "cpu-ns/click")
}

// BenchmarkEvent is one page view, from the body to the log, of many connections.
func BenchmarkEvent(b *testing.B) {
	f := startBench(b)
	agents := benchAgents()
	body := []byte(`{"n":"pageview","u":"https://bench.example/pricing?page=17","d":"bench.example","r":"https://www.google.com/"}`)
	b.ReportAllocs()
	b.SetParallelism(32)
	began := cpuTime()
	b.RunParallel(func(pb *testing.PB) {
		r, reader := benchRequest("/api/event", body)
		r.Header.Set("Content-Type", "text/plain")
		w := &nowhere{http.Header{}}
		for i := 0; pb.Next(); i++ {
			reader.Reset(body)
			r.Body = nopCloser{reader}
			r.Header["User-Agent"] = agents[i%len(agents) : i%len(agents)+1]
			r.Header["X-Forwarded-For"] = []string{benchAddress(i)}
			clear(w.header)
			f.handler.ServeHTTP(w, r)
		}
	})
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/hit")
}

// BenchmarkFreshAgents is what an agent costs that was never seen, which a sender can choose for every hit.
func BenchmarkFreshAgents(b *testing.B) {
	var c agents
	b.ReportAllocs()
	began := cpuTime()
	for i := 0; b.Loop(); i++ {
		c.get(fmt.Appendf(nil, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.%d.%d Safari/537.36", i, i))
	}
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/agent")
}
