package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type handlerFunc func(context.Context, *Request) Reply

func (f handlerFunc) Serve(ctx context.Context, r *Request) Reply { return f(ctx, r) }

// echo answers with the body of the request.
func echo(_ context.Context, r *Request) Reply { return Reply{Body: net.Buffers{r.Body}} }

func open(t *testing.T, change func(*Config), h handlerFunc) *Server {
	t.Helper()
	cfg := Default()
	if change != nil {
		change(&cfg)
	}
	s, err := Open(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// request is a framed request with client id "test"; of a flexible version it has an empty tag section.
func request(key, version int16, correlation int32, body string) []byte {
	var b []byte
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, 4)
	b = append(b, "test"...)
	if flexible(key, version) {
		b = append(b, 0)
	}
	b = append(b, body...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// answer reads one response and returns its correlation id and what follows it.
func answer(t *testing.T, c net.Conn) (int32, string) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		t.Fatalf("read response: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("read response: %v", err)
	}
	return int32(binary.BigEndian.Uint32(b)), string(b[4:])
}

func ends(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := c.Read(make([]byte, 1)); n != 0 || errors.Is(err, context.DeadlineExceeded) || err == nil {
		t.Fatalf("read %d bytes, %v; want the connection closed", n, err)
	}
}

func TestHeaderOfAllVersions(t *testing.T) {
	seen := make(chan Request, 1)
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		seen <- *r
		return echo(ctx, r)
	})
	c := dial(t, s)
	for i, tc := range []struct {
		name         string
		key, version int16
		want         string
	}{
		{"plain", 3, 8, "body"},
		{"flexible: a tag section both ways", 3, 9, "\x00body"},
		{"ApiVersions flexible", 18, 3, "\x00body"},
		{"a version nobody knows is flexible when the last known one is", 18, 99, "\x00body"},
		{"unknown key", 999, 0, "body"},
	} {
		c.Write(request(tc.key, tc.version, int32(i), "body"))
		if id, body := answer(t, c); id != int32(i) || body != tc.want {
			t.Errorf("%s: answer %d %q, want %d %q", tc.name, id, body, i, tc.want)
		}
		if r := <-seen; r.Client.ID != "test" || string(r.Body) != "body" || r.Client.Host != "local" {
			t.Errorf("%s: handler saw %+v", tc.name, r)
		}
	}
}

func TestPipelinedRequestsAreServedAheadAndAnsweredInOrder(t *testing.T) {
	release := make(chan struct{})
	third := make(chan struct{})
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		if r.CorrelationID == 3 {
			close(third)
		}
		body := net.Buffers{r.Body}
		return Reply{Wait: func() (net.Buffers, error) { <-release; return body, nil }}
	})
	c := dial(t, s)
	for i := range int32(3) {
		c.Write(request(0, 3, i+1, strings.Repeat("x", int(i))))
	}
	<-third // handed over while the first is still pending
	close(release)
	for i := range int32(3) {
		if id, body := answer(t, c); id != i+1 || len(body) != int(i) {
			t.Fatalf("answer %d of %d bytes, want %d", id, len(body), i+1)
		}
	}
}

func TestAPanicCostsOneConnection(t *testing.T) {
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		switch r.CorrelationID {
		case 1:
			panic("in Serve")
		case 2:
			return Reply{Wait: func() (net.Buffers, error) { panic("in Wait") }}
		}
		return echo(ctx, r)
	})
	for i := range int32(2) {
		bad := dial(t, s)
		bad.Write(request(3, 0, i+1, ""))
		ends(t, bad)
	}
	good := dial(t, s)
	good.Write(request(3, 0, 3, "ok"))
	if _, body := answer(t, good); body != "ok" {
		t.Errorf("answer %q on another connection", body)
	}
}

func TestSilentRequestsGetNoAnswerAndTheirErrorCloses(t *testing.T) {
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		if r.Key == 3 {
			return echo(ctx, r)
		}
		var err error
		if len(r.Body) > 0 {
			err = errors.New("refused")
		}
		return Reply{Silent: true, Wait: func() (net.Buffers, error) { return nil, err }}
	})
	c := dial(t, s)
	c.Write(request(0, 3, 1, ""))
	c.Write(request(3, 0, 2, ""))
	if id, _ := answer(t, c); id != 2 {
		t.Fatalf("answer to %d, want only the one to 2", id)
	}
	c.Write(request(0, 3, 3, "bad"))
	ends(t, c)
}

func TestWhatIsNotKafkaIsClosed(t *testing.T) {
	s := open(t, func(c *Config) { c.MaxRequestBytes = 64 << 10; c.MaxProduceBytes = 128 << 10 }, echo)
	for name, bytes := range map[string][]byte{
		"HTTP":                       []byte("GET / HTTP/1.1\r\n\r\n"),
		"TLS":                        {0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3},
		"negative size":              {0xff, 0xff, 0xff, 0xff, 0, 0},
		"too small":                  {0, 0, 0, 2, 0, 0},
		"beyond the cap":             {0x7f, 0xff, 0xff, 0xff, 0, 0},
		"beyond the cap of its key":  {0, 1, 0xff, 0, 0, 3},
		"client id beyond the frame": append([]byte{0, 0, 0, 10, 0, 3, 0, 0, 0, 0, 0, 0}, 0x7f, 0xff),
	} {
		c := dial(t, s)
		c.Write(bytes)
		t.Run(name, func(t *testing.T) { ends(t, c) })
	}
}

func TestTheSizeOfAFrameIsNotBelieved(t *testing.T) {
	s := open(t, nil, echo)
	claim := binary.BigEndian.AppendUint32(nil, 90<<20)
	r := frameReader{in: bytes.NewReader(append(claim, 0, 0, 1)), cfg: &s.cfg, budget: s.budget, deadline: func(time.Duration) {}}
	if _, err := r.next(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("err = %v, want ErrUnexpectedEOF", err)
	}
	if !unused(s) {
		t.Error("a frame that broke off keeps its part of the memory budget")
	}
}

func TestMemoryIsGivenBack(t *testing.T) {
	s := open(t, nil, echo)
	c := connect(t, listen(t, s))
	for i := range int32(20) {
		c.Write(request(0, 3, i, strings.Repeat("x", 1<<20)))
		answer(t, c)
	}
	c.Close()
	s.Close()
	if !unused(s) {
		t.Error("memory of answered requests is still taken")
	}
}

func TestPeersThatHoldAllMemoryDoNotStopTheNodeItself(t *testing.T) {
	s := open(t, nil, echo)
	holder := &share{b: s.budget, small: true}
	for _, n := range []int64{int64(s.cfg.MemoryBytes - s.cfg.largestCost()), smallReserve} {
		if err := holder.grow(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, s)
	c.Write(request(3, 8, 1, "body"))
	if id, body := answer(t, c); id != 1 || body != "body" {
		t.Errorf("answer %d %q", id, body)
	}
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := open(t, func(c *Config) { c.MaxConnections = 2; c.MaxConnectionsPerIP = 1; c.Registry = reg }, echo)
	addr := listen(t, s)
	first := connect(t, addr)
	first.Write(request(3, 0, 1, ""))
	answer(t, first)
	ends(t, connect(t, addr)) // second from the address
	start := func(host string) error {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		return s.start(ours, host, &Listener{})
	}
	if err := start("192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	if err := start("192.0.2.2"); !errors.Is(err, errTooMany) {
		t.Errorf("third connection: %v, want errTooMany", err)
	}
	within := dial(t, s) // the node itself is not refused
	within.Write(request(3, 0, 1, ""))
	answer(t, within)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "weir_broker_connections_refused_total" {
			for _, m := range f.GetMetric() {
				want := map[string]float64{"address": 1, "total": 1, "closed": 0}[m.GetLabel()[0].GetValue()]
				if m.GetCounter().GetValue() != want {
					t.Errorf("%v, want %v", m, want)
				}
			}
		}
	}
}

func TestCloseAnswersWhatWasHandedOver(t *testing.T) {
	started := make(chan struct{})
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		close(started)
		<-ctx.Done() // a long poll
		return Reply{Body: net.Buffers{[]byte("bye")}}
	})
	c := dial(t, s)
	c.Write(request(1, 4, 1, ""))
	<-started
	go s.Close()
	if _, body := answer(t, c); body != "bye" {
		t.Errorf("answer %q", body)
	}
	ends(t, c)
	if _, err := s.Dial(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial after Close: %v", err)
	}
}

func TestCloseCutsOffWhatDoesNotEnd(t *testing.T) {
	started := make(chan struct{})
	s := open(t, func(c *Config) { c.DrainFor = 50 * time.Millisecond }, func(ctx context.Context, r *Request) Reply {
		return Reply{Wait: func() (net.Buffers, error) {
			close(started)
			<-Outlive(ctx).Done() // a write to a disk that hangs
			return nil, Outlive(ctx).Err()
		}}
	})
	c := dial(t, s)
	c.Write(request(0, 3, 1, ""))
	<-started
	closed := make(chan struct{})
	go func() { defer close(closed); s.Close() }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for ever")
	}
}

func TestWhatAPeerSentBeforeItClosedIsStillDone(t *testing.T) {
	done := make(chan int32, 3)
	gate := make(chan struct{})
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		<-gate
		done <- r.CorrelationID
		return Reply{Silent: true}
	})
	c := dial(t, s)
	for i := range int32(3) {
		c.Write(request(0, 3, i, ""))
	}
	c.Close()
	close(gate)
	for i := range int32(3) {
		if got := <-done; got != i {
			t.Fatalf("request %d was done, want %d", got, i)
		}
	}
}

func TestIdleConnectionsAreClosedBusyOnesAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Default()
		cfg.IdleFor = time.Minute
		s, err := Open(cfg, handlerFunc(func(ctx context.Context, r *Request) Reply {
			time.Sleep(5 * time.Minute) // a rebalance
			return echo(ctx, r)
		}))
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		if err := s.start(ours, "192.0.2.1", &Listener{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		theirs.Write(request(3, 0, 1, "x"))
		var b [13]byte
		if _, err := io.ReadFull(theirs, b[:9]); err != nil {
			t.Fatalf("a connection that waits for its answer was closed: %v", err)
		}
		if _, err := theirs.Read(b[:]); err != io.EOF {
			t.Fatalf("err = %v, want EOF", err)
		}
		if took := time.Since(began); took < 5*time.Minute+time.Second || took > 7*time.Minute {
			t.Errorf("closed after %v, want within two idle times after the answer at 5m", took)
		}
		s.Close()
	})
}

// FuzzHeader: any frame is either refused or gives a body that is its end; nothing panics.
func FuzzHeader(f *testing.F) {
	f.Add(request(3, 9, 1, "body")[4:])
	f.Add(request(18, 0, 1, "")[4:])
	f.Add([]byte{0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 2, 0, 1, 7, 1, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, err := parseHeader(frame)
		if err != nil {
			if !errors.Is(err, errHeader) {
				t.Fatalf("err = %v, want errHeader", err)
			}
			return
		}
		if !bytes.HasSuffix(frame, r.Body) {
			t.Fatalf("body %x is not the end of %x", r.Body, frame)
		}
	})
}
