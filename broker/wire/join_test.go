package wire

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"testing"
	"time"
)

// certificate is one that signs itself.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// overTLS serves h on a listener with TLS and returns its address.
func overTLS(t *testing.T, change func(*Config), h handlerFunc) net.Addr {
	t.Helper()
	s := open(t, change, h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(ctx, Listener{Listener: l, Name: "SSL", TLS: &tls.Config{Certificates: []tls.Certificate{certificate(t)}}})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return l.Addr()
}

// recorder keeps what came over a connection.
type recorder struct {
	net.Conn
	got bytes.Buffer
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.got.Write(b[:n])
	return n, err
}

// records counts the TLS records with data: type u8 (23), version u16, length u16, bytes.
func (r *recorder) records(t *testing.T) (n int) {
	t.Helper()
	for b := r.got.Bytes(); len(b) >= 5; b = b[5+int(binary.BigEndian.Uint16(b[3:])):] {
		if b[0] == 23 {
			n++
		}
	}
	return n
}

func TestSmallPiecesOfAnAnswerShareARecord(t *testing.T) {
	large := bytes.Repeat([]byte("large"), 20_000)
	var want []byte
	var pieces net.Buffers
	add := func(b []byte) { pieces, want = append(pieces, b), append(want, b...) }
	for i := range 50 {
		add(bytes.Repeat([]byte{byte(i)}, 20))
	}
	small := len(want)
	add(large)
	add([]byte("end"))
	for _, c := range []struct {
		name   string
		body   net.Buffers
		want   []byte
		atMost int
	}{
		{"small", pieces[:50], want[:small], 1},
		{"with a large one between", pieces, want, 2 + len(large)/1300}, // the first records of a connection are as small as a packet
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := overTLS(t, nil, func(context.Context, *Request) Reply { return Reply{Body: c.body} })
			nc, err := net.Dial("tcp", addr.String())
			if err != nil {
				t.Fatal(err)
			}
			raw := &recorder{Conn: nc}
			conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			conn.Write(request(3, 1, 7, ""))
			head := make([]byte, 8)
			got := make([]byte, len(c.want))
			if _, err := io.ReadFull(conn, head); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, c.want) {
				t.Fatalf("the answer is not what was sent: %v", err)
			}
			if n := raw.records(t); n > c.atMost {
				t.Errorf("%d records, want %d at most", n, c.atMost)
			}
		})
	}
}

// A handshake that does not come on ends, and those that are under way count as connections.
func TestHandshakesThatStopAreBounded(t *testing.T) {
	addr := overTLS(t, func(c *Config) { c.StallFor, c.MaxConnectionsPerIP = 2*time.Second, 3 }, echo)
	began := time.Now()
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte{22, 3, 1, 0, 200, 1}) // the beginning of a ClientHello
		open = append(open, c)
	}
	refused, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Close()
	ends(t, refused)
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("one connection more than allowed was closed after %v, want at once", took)
	}
	for _, c := range open {
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil && !isReset(err) {
			t.Errorf("a handshake that stopped is still open: %v", err)
		}
	}
}

func isReset(err error) bool {
	ne, ok := err.(*net.OpError)
	return ok && !ne.Timeout()
}
