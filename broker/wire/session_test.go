package wire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// strangers serves a listener with log-in over a pipe.
func strangers(t *testing.T, h handlerFunc) net.Conn {
	t.Helper()
	s := open(t, nil, h)
	ours, theirs := net.Pipe()
	if err := s.start(ours, "192.0.2.1", &Listener{Name: "SASL_PLAINTEXT", Login: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return theirs
}

// A log-in counts from the request after it on, also when that was sent before the log-in was answered.
func TestWhoAsksIsKnownAfterTheLogIn(t *testing.T) {
	c := strangers(t, func(_ context.Context, r *Request) Reply {
		was := r.Client.Principal
		r.Client.Session.Principal = "User:ada"
		return Reply{Body: net.Buffers{[]byte("<" + was + ">")}}
	})
	go c.Write(append(request(3, 0, 1, ""), request(3, 0, 2, "")...))
	for _, want := range []string{"<>", "<User:ada>"} {
		if _, body := answer(t, c); body != want {
			t.Errorf("principal %s, want %s", body, want)
		}
	}
}

func TestWithoutALogInFramesAreSmallAndTimeIsShort(t *testing.T) {
	c := strangers(t, echo)
	go c.Write(begun(1<<20, 100))
	ends(t, c)
	synctest.Test(t, func(t *testing.T) {
		c := strangers(t, echo)
		began := time.Now()
		for range 100 { // asking for something does not make the time longer
			if _, err := c.Write(request(3, 0, 1, "")); err != nil {
				break
			}
			io.CopyN(io.Discard, c, 8)
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took < Default().StallFor || took > Default().StallFor+2*time.Second {
			t.Errorf("closed after %v, want %v", took, Default().StallFor)
		}
	})
}

func TestBareFrames(t *testing.T) {
	c := strangers(t, func(_ context.Context, r *Request) Reply {
		if !r.Raw {
			r.Client.Session.Raw = true
			return echo(t.Context(), r)
		}
		if string(r.Body) == "last" {
			r.Client.Session.Principal = "User:ada"
		}
		return Reply{Body: net.Buffers{[]byte("got " + string(r.Body))}}
	})
	c.Write(request(17, 0, 7, "x"))
	if id, body := answer(t, c); id != 7 || body != "x" {
		t.Fatalf("answer %d %q", id, body)
	}
	for _, token := range []string{"a", "", "last"} {
		go c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...))
		var size [4]byte
		io.ReadFull(c, size[:])
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		io.ReadFull(c, b)
		if string(b) != "got "+token {
			t.Errorf("answer %q to %q", b, token)
		}
	}
	c.Write(request(17, 0, 8, "y"))
	if id, _ := answer(t, c); id != 8 {
		t.Errorf("after the log-in, answer to %d", id)
	}
}

func TestAnAnswerMayBeTheLastOne(t *testing.T) {
	s := open(t, nil, func(_ context.Context, r *Request) Reply { return Reply{Close: true, Body: net.Buffers{r.Body}} })
	c := dial(t, s)
	c.Write(request(3, 0, 1, "bye"))
	if _, body := answer(t, c); body != "bye" {
		t.Errorf("answer %q", body)
	}
	ends(t, c)
}

// What was asked is answered at once; what comes next waits, whether it was read already or not.
func TestAMutedConnectionIsAnsweredAndThenNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil, func(_ context.Context, r *Request) Reply {
			if r.CorrelationID == 1 {
				r.Client.Session.Mute(20 * time.Second)
				r.Client.Session.Mute(time.Second) // never shortens
			}
			return echo(t.Context(), r)
		})
		ours, theirs := net.Pipe()
		if err := s.start(ours, "192.0.2.1", &Listener{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		go theirs.Write([]byte(strings.Join([]string{string(request(3, 0, 1, "")), string(request(3, 0, 2, ""))}, "")))
		for i, want := range []time.Duration{0, 20 * time.Second} {
			theirs.SetReadDeadline(time.Now().Add(time.Minute))
			var b [8]byte
			if _, err := io.ReadFull(theirs, b[:]); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("answer %d after %v, want %v", i+1, took, want)
			}
		}
		theirs.Close()
		s.Close()
	})
}

func TestInProcessConnectionsAreTrustedAndOthersAnonymous(t *testing.T) {
	seen := make(chan Client, 1)
	s := open(t, nil, func(ctx context.Context, r *Request) Reply {
		seen <- r.Client
		return echo(ctx, r)
	})
	for name, tc := range map[string]struct {
		conn      net.Conn
		principal string
		local     bool
	}{
		"in-process": {dial(t, s), localPrincipal, true},
		"network":    {connect(t, listen(t, s)), Anonymous, false},
	} {
		tc.conn.Write(request(3, 0, 1, ""))
		answer(t, tc.conn)
		if got := <-seen; got.Principal != tc.principal || got.Local != tc.local {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
