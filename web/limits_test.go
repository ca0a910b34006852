package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a listener of connections in memory, so that time in a test is virtual.
type queue struct {
	net.Listener
	conns chan net.Conn
}

func newQueue() queue { return queue{conns: make(chan net.Conn, 16)} }

func (q queue) Accept() (net.Conn, error) {
	conn, ok := <-q.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (q queue) Close() error   { close(q.conns); return nil }
func (q queue) Addr() net.Addr { return &net.TCPAddr{} }

func (q queue) dial() net.Conn {
	near, far := net.Pipe()
	q.conns <- far
	return near
}

// serveInMemory serves n with the limits of the real server and returns where to connect.
func serveInMemory(t *testing.T, n *node) queue {
	t.Helper()
	q := newQueue()
	server := n.server(n.handler)
	go func() { _ = server.Serve(q) }()
	t.Cleanup(func() { _ = server.Close() })
	return q
}

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for range 3 {
			q.dial()
		}
		l := bounded(q, 2)
		accepted := make(chan net.Conn, 3)
		go func() {
			defer close(accepted)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		synctest.Wait()
		if len(accepted) != 2 || l.open() != 2 {
			t.Fatalf("%d accepted, %d open, want 2", len(accepted), l.open())
		}
		first := <-accepted
		_ = first.Close()
		_ = first.Close() // as net/http does now and then: counts once
		synctest.Wait()
		if len(accepted) != 2 || l.open() != 2 {
			t.Errorf("after one closed: %d accepted, %d open, want 2", len(accepted), l.open())
		}
		_ = l.Close() // ends an Accept that waits for room
		for range accepted {
		}
	})
}

func TestClientThatDribblesIsCutOff(t *testing.T) {
	cases := []struct {
		name, begin, more string
		within            time.Duration
	}{
		{"headers", "GET /healthz HTTP/1.1\r\nHost: weir\r\n", "X-A: b\r\n", readHeaderTimeout},
		{"body", "POST /api/v1/login HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n", " ", readTimeout},
		{"nothing at all", "", "", readHeaderTimeout},
		{"idle after a request", "GET /healthz HTTP/1.1\r\nHost: weir\r\n\r\n", "", idleTimeout},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := serveInMemory(t, newNode(t)).dial()
				closed := make(chan time.Duration, 1)
				began := time.Now()
				go func() {
					_, _ = io.Copy(io.Discard, conn)
					closed <- time.Since(began)
				}()
				_, err := io.WriteString(conn, c.begin)
				for err == nil && time.Since(began) < 2*c.within {
					time.Sleep(time.Second)
					_, err = io.WriteString(conn, c.more)
				}
				synctest.Wait()
				select {
				case took := <-closed:
					if took > c.within+time.Second {
						t.Errorf("cut off after %s, want %s", took, c.within)
					}
				default:
					t.Errorf("not cut off within %s", time.Since(began))
				}
				_ = conn.Close()
				synctest.Wait()
			})
		})
	}
}

// patientRollup takes its time to count an import.
type patientRollup struct{ *fakeRollup }

func (patientRollup) WaitFor(ctx context.Context, _ map[int32]int64) error {
	select {
	case <-time.After(10 * time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestImportOutlivesTheLimitsOfShortRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, func(c *Config) { c.Rollup = patientRollup{c.Rollup.(*fakeRollup)} })
		callers(t, n)
		sign := httptest.NewRequest("GET", "/", nil)
		withSession(n, "editor@example.com")(sign)
		conn := serveInMemory(t, n).dial()
		defer conn.Close()
		go func() {
			_, _ = io.WriteString(conn, "POST /api/v1/sites/example.com/import?wait=1 HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n"+
				"X-Weir-Request: 1\r\nCookie: "+sign.Header.Get("Cookie")+"\r\n\r\n")
			for range 10 { // a slow line: five minutes for the body
				time.Sleep(30 * time.Second)
				_, _ = io.WriteString(conn, "5\r\nline\n\r\n")
			}
			_, _ = io.WriteString(conn, "0\r\n\r\n")
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `{"done":true,"lines":10,"accepted":10,`) {
			t.Errorf("%d %s %v", resp.StatusCode, body, err)
		}
		if strings.Count(string(body), "\n") < 100 {
			t.Errorf("%d lines in ten minutes of waiting, want one each five seconds", strings.Count(string(body), "\n"))
		}
	})
}

func TestLiveStreamOutlivesTheLimitsOfShortRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		callers(t, n)
		sign := httptest.NewRequest("GET", "/", nil)
		withSession(n, "viewer@example.com")(sign)
		conn := serveInMemory(t, n).dial()
		go func() {
			_, _ = io.WriteString(conn, "GET /api/v1/sites/example.com/live HTTP/1.1\r\nHost: weir\r\nCookie: "+sign.Header.Get("Cookie")+"\r\n\r\n")
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		lines, events := bufio.NewScanner(resp.Body), 0
		for began := time.Now(); time.Since(began) < 10*time.Minute && lines.Scan(); {
			if lines.Text() == "event: now" {
				events++
			}
		}
		if events < 40 {
			t.Errorf("%d events in ten minutes (%v), want one each 15 seconds", events, lines.Err())
		}
		_ = conn.Close()
		synctest.Wait()
		if n.live.Open() != 0 {
			t.Error("the stream did not end with its client")
		}
	})
}
