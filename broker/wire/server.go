package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Server serves Kafka connections from listeners and from Dial. Its methods may be called from any goroutine.
type Server struct {
	cfg     Config
	handler Handler
	budget  *budget // memory for the requests of all peers
	own     *budget // the same for in-process connections: no peer may keep the node from its own work
	metrics *metrics
	log     *slog.Logger

	ctx    context.Context // the parent of all connections
	cancel context.CancelFunc
	served sync.WaitGroup // one per connection

	mu       sync.Mutex // guards what follows
	closed   bool
	nextConn uint64
	conns    map[*conn]struct{}
	perIP    map[string]int
}

// Open checks cfg and returns a server without connections.
func Open(cfg Config, handler Handler) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, handler: handler,
		budget:  newBudget(int64(cfg.MemoryBytes), int64(cfg.largestCost())),
		own:     newBudget(int64(cfg.MemoryBytes), int64(cfg.largestCost())),
		metrics: newMetrics(cfg.Registry),
		log:     cfg.Log,
		conns:   make(map[*conn]struct{}),
		perIP:   make(map[string]int),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve accepts connections from l until ctx ends or l is closed, and closes l. Connections outlive it, until Close.
func (s *Server) Serve(ctx context.Context, l Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	pause := 5 * time.Millisecond
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 5 * time.Millisecond
			s.accept(nc, &l)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		default: // out of file descriptors, most likely: wait for some to be closed
			s.log.Warn("accept Kafka connection", "err", err, "retry_in", pause)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			pause = min(2*pause, time.Second)
		}
	}
}

// accept starts to serve nc, or closes it when there are too many.
func (s *Server) accept(nc net.Conn, l *Listener) {
	host := nc.RemoteAddr().String()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if err := s.start(nc, host, l); err != nil {
		s.log.Warn("refuse Kafka connection", "peer", host, "err", err)
		nc.Close()
	}
}

// Errors of connections that are refused. They are counted by reason.
var (
	errTooMany      = errors.New("too many connections")
	errTooManyPerIP = errors.New("too many connections from this address")
)

const localHost = "local" // Client.Host of in-process connections

// start serves nc, which l accepted, on goroutines of its own. Without l it comes from within the process.
func (s *Server) start(nc net.Conn, host string, l *Listener) error {
	c, err := s.admit(nc, host)
	if err != nil {
		s.metrics.refused(err)
		return err
	}
	go func() {
		defer s.served.Done()
		err := c.meet(l)
		if err == nil {
			err = c.run()
		}
		s.forget(c)
		s.logEnd(c, err)
	}()
	return nil
}

func (s *Server) admit(nc net.Conn, host string) (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, net.ErrClosed
	case host == localHost: // the node's own, few: strangers must not keep it from itself
	case len(s.conns)-s.perIP[localHost] >= s.cfg.MaxConnections:
		return nil, fmt.Errorf("%w: %d", errTooMany, s.cfg.MaxConnections)
	case s.perIP[host] >= s.cfg.MaxConnectionsPerIP:
		return nil, fmt.Errorf("%w: %d", errTooManyPerIP, s.perIP[host])
	}
	s.nextConn++
	c := newConn(s, nc, Client{Host: host, Conn: s.nextConn})
	s.conns[c] = struct{}{}
	s.perIP[host]++
	s.served.Add(1)
	s.metrics.connections.Inc()
	return c, nil
}

// swap puts the connection that speaks TLS in the place of the bare one. drain and cutOff may use either at the same time.
func (s *Server) swap(c *conn, secure net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.nc = secure
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.perIP[c.client.Host]--; s.perIP[c.client.Host] == 0 {
		delete(s.perIP, c.client.Host)
	}
	s.metrics.connections.Dec()
}

// logEnd says why a connection ended, loudly only when our side or the peer's program is at fault.
func (s *Server) logEnd(c *conn, err error) {
	level := slog.LevelWarn
	var ne *net.OpError
	if err == nil || errors.Is(err, errIdle) || errors.Is(err, errLogin) || errors.Is(err, errTLS) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &ne) {
		level = slog.LevelDebug
	}
	s.log.Log(context.Background(), level, "Kafka connection ended", "peer", c.client.Host, "conn", c.client.Conn, "err", err)
}

// Close refuses new connections, stops reading from all, waits up to Config.DrainFor for requests that were handed over, then closes
// what is left. It returns when the last connection has ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.drain()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.served.Wait(); close(done) }()
	timer := time.NewTimer(s.cfg.DrainFor)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.cutOff()
		<-done
	}
	s.cancel()
	return nil
}

// cutOff ends what does not end by itself.
func (s *Server) cutOff() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.nc.Close()
	}
}

// Take serves a connection of another node of the cluster, which may do what this one may. It closes it on an error.
func (s *Server) Take(nc net.Conn) error {
	if err := s.start(nc, localHost, nil); err != nil {
		nc.Close()
		return err
	}
	return nil
}

// Dial returns one end of a connection within the process. The other end is served like any connection.
func (s *Server) Dial() (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("open in-process connection: %w", err)
	}
	if err := s.start(ours, localHost, nil); err != nil {
		ours.Close()
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}
