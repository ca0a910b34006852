package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/weir-analytics/weir/web/admin"
	"github.com/weir-analytics/weir/web/auth"
	"github.com/weir-analytics/weir/web/live"
	"github.com/weir-analytics/weir/web/stats"
)

// Limits on time and size. They are guesses with room for slow lines; routes that take longer set their own.
const (
	readHeaderTimeout = 10 * time.Second // a client that dribbles its headers is gone after this
	readTimeout       = 20 * time.Second // for headers and a small body; who reads a large one asks for more
	writeTimeout      = 90 * time.Second // for the answer, from the end of the headers
	idleTimeout       = 90 * time.Second // between requests of one connection
	maxHeaderBytes    = 64 << 10
	stopTimeout       = 10 * time.Second // for requests under way when the node stops
	waitingPasswords  = 32               // callers that may wait for a hash; each one holds only its request
)

var errPanic = errors.New("panic in a handler")

// Server is the HTTP side of a node.
type Server struct {
	cfg      Config
	log      *slog.Logger
	tcp      *boundedListener
	socket   net.Listener
	sessions *auth.Sessions
	assets   assets
	metrics  *metrics
	compress func(http.Handler) http.HandlerFunc

	auth  *auth.Auth
	stats *stats.Stats
	admin *admin.Admin
	live  *live.Live

	stopping chan struct{} // closed by stop: streams end
	stopOnce sync.Once
}

// Open binds the listeners and opens the sessions. Nothing is answered before Run. An error names the flag to change.
func Open(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Log.With("room", "web"), stopping: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open() (err error) {
	if s.assets, err = loadAssets(s.cfg.Assets); err != nil {
		return err
	}
	if s.compress, err = newCompressor(); err != nil {
		return fmt.Errorf("set up compression: %w", err)
	}
	if s.sessions, err = auth.OpenSessions(filepath.Join(s.cfg.DataDir, "web", "sessions.db"), s.cfg.Now(), s.log); err != nil {
		return err
	}
	listener, err := listenTCP(s.cfg.Listen)
	if err != nil {
		return err
	}
	s.tcp = bounded(listener, s.cfg.MaxConns)
	if s.socket, err = listenSocket(s.cfg.DataDir); err != nil {
		return err
	}
	s.build()
	s.metrics, err = newMetrics(s.cfg.Registry, s.tcp, s.live.Open)
	return err
}

// build makes the parts that answer.
func (s *Server) build() {
	cfg := s.cfg
	hasher := auth.NewHasher(max(1, runtime.GOMAXPROCS(0)/2), waitingPasswords)
	s.auth = auth.New(auth.Config{Controller: cfg.Controller, Sessions: s.sessions, Hasher: hasher, Now: cfg.Now, Log: s.log,
		Client: func(r *http.Request) netip.Addr { return cfg.Client(r).Addr }})
	s.stats = stats.New(cfg.Controller, cfg.Rollup, cfg.Now, s.log)
	s.admin = admin.New(admin.Config{Controller: cfg.Controller, Rollup: cfg.Rollup, Importer: cfg.Importer, Hasher: hasher, Status: cfg.Status, Diagnose: cfg.Diagnose,
		Attribution: cfg.Attribution, Stopping: s.stopping, Log: s.log})
	mayStill := func(r *http.Request) bool { return s.auth.Still(auth.FromContext(r.Context()), auth.Read) }
	s.live = live.New(cfg.Controller, cfg.Rollup, mayStill, s.stopping, s.log)
}

// Run answers requests until ctx ends. Then streams end at once and other requests get some seconds.
func (s *Server) Run(ctx context.Context) error {
	handler := s.handler()
	tcp, socket := s.server(handler), s.server(handler)
	socket.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return auth.OnSocket(ctx) }

	failed := make(chan error, 2) // one per listener
	go func() { failed <- tcp.Serve(s.tcp) }()
	go func() { failed <- socket.Serve(s.socket) }()
	var err error
	served := 2
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("serve HTTP: %w", err)
		served--
	}
	s.stop()
	s.shutdown(tcp)
	s.shutdown(socket)
	for range served {
		<-failed // http.ErrServerClosed, as asked for
	}
	return err
}

func (s *Server) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // broken connections of clients; nobody has to act
	}
}

func (s *Server) shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.log.Warn("requests were cut off at the stop", "err", err)
		_ = server.Close() // only closes connections; their errors are the clients'
	}
}

func (s *Server) stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// Close releases listeners, the socket file and the sessions. Call it after Run has returned, or instead of Run.
func (s *Server) Close() error {
	s.stop()
	var errs []error
	closeListener := func(l net.Listener) {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.tcp != nil {
		closeListener(s.tcp)
	}
	if s.socket != nil {
		closeListener(s.socket)
		if err := os.Remove(filepath.Join(s.cfg.DataDir, SocketName)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if s.sessions != nil {
		errs = append(errs, s.sessions.Close())
	}
	return errors.Join(errs...)
}

// Addr returns the address of the TCP listener.
func (s *Server) Addr() net.Addr { return s.tcp.Addr() }

// URL returns the address of the dashboard as a browser on this machine would write it.
func (s *Server) URL() string {
	addr, ok := s.tcp.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + s.tcp.Addr().String()
	}
	host := "localhost"
	if !addr.IP.IsUnspecified() && !addr.IP.IsLoopback() {
		host = addr.IP.String()
	} else if ip4 := addr.IP.To4(); ip4 != nil && addr.IP.IsLoopback() {
		host = ip4.String()
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// SetupURL returns the one-time link that makes the first administrator, and false once there is a user. It is a secret: print it for the
// operator, and nowhere else.
func (s *Server) SetupURL() (string, bool) {
	token, needed := s.auth.SetupToken()
	if !needed {
		return "", false
	}
	return s.URL() + "/setup#" + token, true
}
