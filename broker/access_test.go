package broker

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/command"
)

// authority signs certificates of a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	says logBuffer // of those who use the files
}

// logBuffer holds what a logger writes, from any goroutine.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.key, a.cert = a.sign("ca", pkix.Name{CommonName: "authority"}, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	return a
}

// sign makes NAME.pem and NAME.key in dir. The first certificate signs itself.
func (a *authority) sign(name string, subject pkix.Name, change func(*x509.Certificate)) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", keyDER)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// listens returns what a listener with the certificate "server" needs, whose clients log in or not.
func (a *authority) listens(auth tls.ClientAuthType, login bool) *tls.Config {
	a.t.Helper()
	a.sign("server", pkix.Name{CommonName: "server"}, nil)
	keys, err := wire.OpenKeys(wire.Files{Cert: a.path("server.pem"), Key: a.path("server.key"), ClientCA: a.path("ca.pem"), ClientAuth: auth}, slog.New(slog.NewTextHandler(&a.says, nil)))
	if err != nil {
		a.t.Fatal(err)
	}
	return keys.Config(login)
}

// dials is the side of a client, with a certificate of its own if it has a name.
func (a *authority) dials(name string) *tls.Config {
	a.t.Helper()
	cfg := &tls.Config{RootCAs: x509.NewCertPool()}
	cfg.RootCAs.AddCert(a.cert)
	if name != "" {
		cert, err := tls.LoadX509KeyPair(a.path(name+".pem"), a.path(name+".key"))
		if err != nil {
			a.t.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg
}

// startGuarded runs a broker whose first listener is for the test itself and whose others are given. All are advertised.
func startGuarded(t *testing.T, change func(*Config), listeners ...Listener) (*Broker, *controller) {
	t.Helper()
	b, ctl := start(t, func(c *Config) {
		c.Listeners = append(c.Listeners, listeners...)
		if change != nil {
			change(c)
		}
	})
	self := command.RegisterBroker{ID: 1, ServerID: "s", Host: "127.0.0.1", Port: int32(b.Addr().(*net.TCPAddr).Port)}
	for i, addr := range b.Addrs() {
		self.Listeners = append(self.Listeners, command.Listener{Name: b.cfg.Listeners[i].Name, Host: "127.0.0.1", Port: int32(addr.(*net.TCPAddr).Port)})
	}
	ctl.apply(t.Context(), self)
	return b, ctl
}

// local is an admin client from within the process, which may do everything.
func local(t *testing.T, b *Broker) *kadm.Client {
	t.Helper()
	return kadm.NewClient(localClient(t, b))
}

// localClient is a client within the process, which may do everything.
func localClient(t *testing.T, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(b.Addr().String()), kgo.Dialer(b.Dial))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// addUser gives a user credentials of all mechanisms.
func addUser(t *testing.T, b *Broker, name, password string) {
	t.Helper()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		res, err := local(t, b).AlterUserSCRAMs(within(t), nil, []kadm.UpsertSCRAM{{User: name, Mechanism: mechanism, Iterations: 4096, Password: password}})
		if err == nil {
			err = res.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func via(b *Broker, listener int, opts ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.SeedBrokers(b.Addrs()[listener].String()), kgo.RetryTimeout(3 * time.Second), kgo.RequestRetries(1)}, opts...)
}

// roundTrip writes a record and reads it back.
func roundTrip(t *testing.T, opts []kgo.Opt, topic string) error {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.DefaultProduceTopic(topic), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(within(t), 60*time.Second)
	defer cancel()
	if err := c.ProduceSync(ctx, kgo.StringRecord("over "+topic)).FirstErr(); err != nil {
		return err
	}
	for {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() > 0 {
			return nil
		}
	}
}

// answers reports whether a client with opts gets any answer within a second.
func answers(t *testing.T, opts []kgo.Opt) bool {
	t.Helper()
	c, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return c.Ping(ctx) == nil
}

func TestLogInsOfAllMechanisms(t *testing.T) {
	a := newAuthority(t)
	b, _ := startGuarded(t, nil,
		Listener{Name: "SASL_SSL", Addr: "127.0.0.1:0", TLS: a.listens(tls.RequireAndVerifyClientCert, true), Login: true}, // who logs in needs no certificate
		Listener{Name: "SASL_PLAINTEXT", Addr: "127.0.0.1:0", Login: true})
	addUser(t, b, "ada", "right, and long")
	createTopic(t, b, "t", 1)
	mechanisms := func(user, password string) map[string]sasl.Mechanism {
		return map[string]sasl.Mechanism{
			"plain":    plain.Auth{User: user, Pass: password}.AsMechanism(),
			"scram256": scram.Auth{User: user, Pass: password}.AsSha256Mechanism(),
			"scram512": scram.Auth{User: user, Pass: password}.AsSha512Mechanism(),
		}
	}
	for name, m := range mechanisms("ada", "right, and long") {
		if err := roundTrip(t, via(b, 1, kgo.SASL(m), kgo.DialTLSConfig(a.dials(""))), "t"); err != nil {
			t.Errorf("%s over TLS: %v", name, err)
		}
		if err := roundTrip(t, via(b, 2, kgo.SASL(m)), "t"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for who, m := range map[string]sasl.Mechanism{
		"wrong password, plain": mechanisms("ada", "wrong")["plain"], "wrong password, SCRAM": mechanisms("ada", "wrong")["scram256"],
		"nobody, plain": mechanisms("eve", "wrong")["plain"], "nobody, SCRAM": mechanisms("eve", "wrong")["scram512"],
	} {
		c, err := kgo.NewClient(via(b, 2, kgo.SASL(m))...)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(within(t)); !errors.Is(err, kerr.SaslAuthenticationFailed) {
			t.Errorf("%s: %v, want SASL_AUTHENTICATION_FAILED", who, err)
		}
		c.Close()
	}
	if answers(t, via(b, 2)) {
		t.Error("who does not log in is answered")
	}
}

// speak sends requests over one connection and reads the answers.
type speaker struct {
	t *testing.T
	net.Conn
}

func speak(t *testing.T, addr net.Addr) *speaker {
	t.Helper()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return &speaker{t, c}
}

// ask returns false when the connection was closed instead of an answer.
func (s *speaker) ask(q kmsg.Request, version int16) (kmsg.Response, bool) {
	s.t.Helper()
	q.SetVersion(version)
	s.frame(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, q, 1)[4:])
	b, ok := s.answer()
	if !ok {
		return nil, false
	}
	r := q.ResponseKind()
	b = b[4:]
	if r.IsFlexible() && q.Key() != 18 {
		b = b[1:]
	}
	if err := r.ReadFrom(b); err != nil {
		s.t.Fatal(err)
	}
	return r, true
}

// frame sends bytes behind their size.
func (s *speaker) frame(b []byte) {
	s.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
}

func (s *speaker) answer() ([]byte, bool) {
	s.t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(s, size[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.t.Fatal("neither an answer nor the end of the connection")
		}
		return nil, false
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(s, b); err != nil {
		return nil, false
	}
	return b, true
}

func (s *speaker) handshake(mechanism string, version int16) (*kmsg.SASLHandshakeResponse, bool) {
	s.t.Helper()
	q := kmsg.NewPtrSASLHandshakeRequest()
	q.Mechanism = mechanism
	r, ok := s.ask(q, version)
	if !ok {
		return nil, false
	}
	return r.(*kmsg.SASLHandshakeResponse), true
}

func (s *speaker) authenticate(token string) (*kmsg.SASLAuthenticateResponse, bool) {
	s.t.Helper()
	q := kmsg.NewPtrSASLAuthenticateRequest()
	q.SASLAuthBytes = []byte(token)
	r, ok := s.ask(q, 2)
	if !ok {
		return nil, false
	}
	return r.(*kmsg.SASLAuthenticateResponse), true
}

var loginListener = Listener{Name: "SASL_PLAINTEXT", Addr: "127.0.0.1:0", Login: true}

func TestLogInsOfOldClientsComeAsBareFrames(t *testing.T) {
	b, _ := startGuarded(t, nil, loginListener)
	addUser(t, b, "ada", "secret")
	c := speak(t, b.Addrs()[1])
	if r, ok := c.handshake("PLAIN", 0); !ok || r.ErrorCode != 0 {
		t.Fatalf("handshake: %+v", r)
	}
	c.frame([]byte("\x00ada\x00secret"))
	if token, ok := c.answer(); !ok || len(token) != 0 {
		t.Fatalf("answer %q, want an empty frame", token)
	}
	if _, ok := c.ask(kmsg.NewPtrMetadataRequest(), 1); !ok {
		t.Error("no answer after the log-in")
	}
	c = speak(t, b.Addrs()[1])
	c.handshake("PLAIN", 0)
	c.frame([]byte("\x00ada\x00wrong"))
	if token, ok := c.answer(); ok {
		t.Errorf("answer %q to a wrong password, want the connection closed", token)
	}
}

func TestStatesOfALogIn(t *testing.T) {
	b, _ := startGuarded(t, func(c *Config) { c.API.Access.Reauthenticate = time.Hour }, loginListener)
	addUser(t, b, "ada", "secret")
	addUser(t, b, "bob", "secret")
	const ada, bob = "\x00ada\x00secret", "\x00bob\x00secret"

	c := speak(t, b.Addrs()[1])
	if _, ok := c.ask(kmsg.NewPtrMetadataRequest(), 1); ok {
		t.Error("Metadata was answered before a log-in")
	}
	c = speak(t, b.Addrs()[1])
	if r, ok := c.authenticate(ada); !ok || r.ErrorCode != kerr.IllegalSaslState.Code {
		t.Errorf("without a handshake: %+v", r)
	}
	c = speak(t, b.Addrs()[1])
	if r, ok := c.handshake("GSSAPI", 1); !ok || r.ErrorCode != kerr.UnsupportedSaslMechanism.Code || len(r.SupportedMechanisms) != 3 {
		t.Errorf("another mechanism: %+v", r)
	}
	if _, ok := c.handshake("PLAIN", 1); ok {
		t.Error("the connection goes on after a wrong mechanism")
	}
	if r, ok := speak(t, b.Addr()).handshake("PLAIN", 1); !ok || r.ErrorCode != kerr.IllegalSaslState.Code {
		t.Errorf("on a listener without log-in: %+v", r)
	}

	c = speak(t, b.Addrs()[1])
	if _, ok := c.ask(kmsg.NewPtrApiVersionsRequest(), 0); !ok {
		t.Error("ApiVersions is not answered before a log-in")
	}
	c.handshake("PLAIN", 1)
	if r, ok := c.handshake("PLAIN", 1); !ok || r.ErrorCode != kerr.IllegalSaslState.Code {
		t.Errorf("a second handshake: %+v", r)
	}

	c = speak(t, b.Addrs()[1])
	c.handshake("PLAIN", 1)
	if r, ok := c.authenticate(ada); !ok || r.ErrorCode != 0 || r.SessionLifetimeMillis != 3_600_000 {
		t.Fatalf("log-in: %+v", r)
	}
	c.handshake("PLAIN", 1)
	if _, ok := c.ask(kmsg.NewPtrMetadataRequest(), 1); !ok {
		t.Error("requests between handshake and token of a repeated log-in are not answered")
	}
	if r, ok := c.authenticate(ada); !ok || r.ErrorCode != 0 {
		t.Errorf("repeated: %+v", r)
	}
	c.handshake("PLAIN", 1)
	if r, ok := c.authenticate(bob); !ok || r.ErrorCode != kerr.SaslAuthenticationFailed.Code {
		t.Errorf("repeated by another: %+v", r)
	}
	if _, ok := c.ask(kmsg.NewPtrMetadataRequest(), 1); ok {
		t.Error("the connection goes on after a failed log-in")
	}
}

func TestALogInEnds(t *testing.T) {
	var ahead atomic.Int64
	b, _ := startGuarded(t, func(c *Config) {
		c.API.Access.Reauthenticate = time.Minute
		c.API.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}, loginListener)
	addUser(t, b, "ada", "secret")
	dial := func() *speaker {
		c := speak(t, b.Addrs()[1])
		c.handshake("PLAIN", 1)
		c.authenticate("\x00ada\x00secret")
		if _, ok := c.ask(kmsg.NewPtrMetadataRequest(), 1); !ok {
			t.Fatal("not logged in")
		}
		return c
	}
	old, removed := dial(), dial()
	ahead.Store(int64(2 * time.Minute))
	if _, ok := old.ask(kmsg.NewPtrMetadataRequest(), 1); ok {
		t.Error("answered after the log-in was over")
	}
	ahead.Store(0)
	gone := []kadm.DeleteSCRAM{{User: "ada", Mechanism: kadm.ScramSha256}, {User: "ada", Mechanism: kadm.ScramSha512}}
	if _, err := local(t, b).AlterUserSCRAMs(within(t), gone, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := removed.ask(kmsg.NewPtrMetadataRequest(), 1); ok {
		t.Error("answered after the user was removed")
	}
}

func TestCertificatesOfClients(t *testing.T) {
	a := newAuthority(t)
	a.sign("ada", pkix.Name{CommonName: "ada", Organization: []string{"Example, Inc."}, OrganizationalUnit: []string{"counts"}, Country: []string{"DE"}}, nil)
	stranger := newAuthority(t)
	stranger.sign("eve", pkix.Name{CommonName: "ada"}, nil)
	b, _ := startGuarded(t, nil, Listener{Name: "SSL", Addr: "127.0.0.1:0", TLS: a.listens(tls.RequireAndVerifyClientCert, false)})
	createTopic(t, b, "t", 1)
	if err := roundTrip(t, via(b, 1, kgo.DialTLSConfig(a.dials("ada"))), "t"); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if answers(t, via(b, 1, kgo.DialTLSConfig(a.dials("")))) {
		t.Error("who has no certificate is answered")
	}
	forged := a.dials("")
	forged.Certificates = stranger.dials("eve").Certificates
	if answers(t, via(b, 1, kgo.DialTLSConfig(forged))) {
		t.Error("who has a certificate of another authority is answered")
	}
}

func TestAChangedCertificateIsUsedAtTheNextConnection(t *testing.T) {
	a := newAuthority(t)
	b, _ := startGuarded(t, nil, Listener{Name: "SSL", Addr: "127.0.0.1:0", TLS: a.listens(tls.NoClientCert, false)})
	shown := func() string {
		c, err := tls.Dial("tcp", b.Addrs()[1].String(), a.dials(""))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := shown(); got != "server" {
		t.Fatalf("certificate of %s", got)
	}
	a.sign("server", pkix.Name{CommonName: "renewed"}, nil)
	eventually(t, "the renewed certificate to be shown", func() bool { return shown() == "renewed" })
	refused := func() int { return strings.Count(a.says.String(), "the former ones stay in use") }
	before := refused() // one of two files may have been read with the former other
	if err := os.WriteFile(a.path("server.pem"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the damaged file to be read", func() bool {
		if got := shown(); got != "renewed" {
			t.Errorf("certificate of %s, want the last good one", got)
		}
		return refused() > before
	})
	if got := shown(); got != "renewed" {
		t.Errorf("certificate of %s after a damaged file was read, want the last good one", got)
	}
}

func TestEachListenerIsToldItsOwnAddress(t *testing.T) {
	b, _ := startGuarded(t, nil, loginListener, Listener{Name: "PLAINTEXT-2", Addr: "127.0.0.1:0"})
	addUser(t, b, "ada", "secret")
	for i, opts := range [][]kgo.Opt{nil, {kgo.SASL(plain.Auth{User: "ada", Pass: "secret"}.AsMechanism())}, nil} {
		want := int32(b.Addrs()[i].(*net.TCPAddr).Port)
		c := client(t, b, via(b, i, opts...)...)
		m, err := kadm.NewClient(c).Metadata(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Brokers[0].Port; got != want {
			t.Errorf("listener %d: Metadata says port %d, want %d", i, got, want)
		}
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{"g"}
		found, err := find.RequestWith(within(t), c)
		if err != nil || found.Coordinators[0].Port != want {
			t.Errorf("listener %d: FindCoordinator says %+v, %v, want port %d", i, found.Coordinators, err, want)
		}
		cluster, err := kmsg.NewPtrDescribeClusterRequest().RequestWith(within(t), c)
		if err != nil || cluster.Brokers[0].Port != want {
			t.Errorf("listener %d: DescribeCluster says %+v, %v, want port %d", i, cluster, err, want)
		}
	}
}

// Property: whatever a stranger sends as a log-in, nothing panics and nobody is logged in who has not the password.
func FuzzLogIn(f *testing.F) {
	ctl := newController(f)
	ctl.apply(f.Context(), command.SetCredential{
		User: "ada", Mechanism: "SCRAM-SHA-256", Salt: []byte("salt"), Iterations: 4096, StoredKey: make([]byte, 32), ServerKey: make([]byte, 32)})
	cfg := Default()
	cfg.DataDir, cfg.Listeners = f.TempDir(), []Listener{Plaintext("127.0.0.1:0")}
	b, err := open(cfg, ctl, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(b.unlisten)
	h, err := api.New(cfg.API, backend{b}, b.groups, b.txns)
	if err != nil {
		f.Fatal(err)
	}
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		f.Add(mechanism, []byte("\x00ada\x00secret"), []byte("x"), false)
		f.Add(mechanism, []byte("n,,n=ada,r=abc"), []byte("c=biws,r=abc,p=AAAA"), true)
		f.Add(mechanism, []byte("n,a=bob,n=ada,r=abc"), []byte("c=biws,r=abc,p="), true)
		f.Add(mechanism, []byte("p=tls-unique,,n=ada,r=abc,tokenauth=true"), []byte(""), false)
	}
	f.Fuzz(func(t *testing.T, mechanism string, first, second []byte, raw bool) {
		session := &wire.Session{}
		who := wire.Client{Host: "127.0.0.1", Listener: "SASL_PLAINTEXT", Session: session}
		hello := kmsg.NewPtrSASLHandshakeRequest()
		hello.Mechanism = mechanism
		if raw {
			hello.Version = 0
		} else {
			hello.Version = 1
		}
		done, cancel := context.WithCancel(t.Context())
		cancel() // answers that are held back come at once
		h.Serve(done, &wire.Request{Key: 17, Version: hello.Version, Body: hello.AppendTo(nil), Client: who})
		for _, token := range [][]byte{first, second} {
			req := &wire.Request{Key: 36, Version: 2, Client: who, Raw: session.Raw, Body: token}
			if !session.Raw {
				q := kmsg.NewPtrSASLAuthenticateRequest()
				q.Version, q.SASLAuthBytes = 2, token
				req.Body = q.AppendTo(nil)
			}
			reply := h.Serve(done, req)
			if reply.Wait != nil {
				reply.Wait()
			}
			if reply.Err != nil || reply.Close {
				break
			}
		}
		if session.Principal != "" {
			t.Fatalf("%q logged in as %s", first, session.Principal)
		}
	})
}

// What lies about its length before a log-in ends its own connection, and nothing else.
func TestLogInsThatLieAboutTheirLengthEnd(t *testing.T) {
	b, _ := startGuarded(t, nil, loginListener)
	addUser(t, b, "ada", "secret")
	token := func(size string) []byte { // SaslAuthenticate v0 with a token that is said to be that long
		return append([]byte("\x00\x24\x00\x00\x00\x00\x00\x01\x00\x04test"+size), "\x00ada\x00secret"...)
	}
	for name, lie := range map[string]func(s *speaker){
		"a token longer than its frame":  func(s *speaker) { s.handshake("PLAIN", 1); s.frame(token("\x7f\xff\xff\xff")) },
		"a token of negative length":     func(s *speaker) { s.handshake("PLAIN", 1); s.frame(token("\xff\xff\xff\xff")) },
		"a frame of two gigabytes":       func(s *speaker) { s.handshake("PLAIN", 1); s.Write([]byte("\x7f\xff\xff\xff\x00\x24\x00\x00")) },
		"a frame just too large":         func(s *speaker) { s.handshake("PLAIN", 1); s.Write([]byte("\x00\x01\x00\x01\x00\x24\x00\x00")) },
		"a bare frame of negative size":  func(s *speaker) { s.handshake("PLAIN", 0); s.Write([]byte("\xff\xff\xff\xff\x00ada\x00secret")) },
		"a bare frame that is too large": func(s *speaker) { s.handshake("PLAIN", 0); s.Write([]byte("\x00\x02\x00\x00\x00ada\x00secret")) },
		"TLS where none is spoken":       func(s *speaker) { s.Write([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := speak(t, b.Addrs()[1])
			lie(s)
			for { // a log-in that fails is answered, late and last
				if _, ok := s.answer(); !ok {
					break
				}
			}
		})
	}
	s := speak(t, b.Addrs()[1])
	s.handshake("PLAIN", 1)
	if r, ok := s.authenticate("\x00ada\x00secret"); !ok || r.ErrorCode != 0 {
		t.Errorf("a log-in after that: %+v, %v", r, ok)
	}
}
