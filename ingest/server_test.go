package ingest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestALargeBodyGetsItsAnswer(t *testing.T) {
	f := start(t, nil)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	big := append([]byte(`{"n":"`), bytes.Repeat([]byte("x"), 10<<20)...)
	for name, body := range map[string]io.Reader{"known length": bytes.NewReader(big), "unknown length": struct{ io.Reader }{bytes.NewReader(big)}} {
		resp, err := http.Post(server.URL+"/api/event", "text/plain", body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "larger than") {
			t.Errorf("%s: got %d %s", name, resp.StatusCode, text)
		}
	}
}

func TestConnectionsAreKeptBetweenHits(t *testing.T) {
	f := start(t, nil)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	reader := bufio.NewReader(conn)
	for _, body := range []string{pageview, "broken", `{"n":"pageview","u":"https://nowhere.example/"}`, pageview} {
		fmt.Fprintf(conn, "POST /api/event HTTP/1.1\r\nHost: x\r\nUser-Agent: %s\r\nContent-Length: %d\r\n\r\n%s", chrome, len(body), body)
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := len(f.log.hits()); n != 2 {
		t.Errorf("%d hits", n)
	}
}
