package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/weir-analytics/weir/internal/sock"
)

// boundedListener accepts so many connections and leaves more of them waiting in the kernel's queue until one closes.
type boundedListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func bounded(l net.Listener, conns int) *boundedListener {
	return &boundedListener{Listener: l, slots: make(chan struct{}, conns), closed: make(chan struct{})}
}

func (l *boundedListener) open() int  { return len(l.slots) }
func (l *boundedListener) bound() int { return cap(l.slots) }

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &countedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type countedConn struct {
	net.Conn
	release func()
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// listenTCP opens the TCP listener and says what to do when that fails.
func listenTCP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--http %s: another program listens there; stop it or choose another port: %w", address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("--http %s: ports below 1024 need the right to open them; choose one such as :8080: %w", address, err)
	case err != nil:
		return nil, fmt.Errorf("--http %s: %w", address, err)
	}
	return l, nil
}

// SocketName is the name of the admin socket in the data directory.
const SocketName = "admin.sock"

// listenSocket makes the admin socket. It is bound inside a directory that only we may enter and moved to its place once its mode is set, so that
// nobody else can ever connect. A socket that a crash left behind is replaced.
func listenSocket(dataDir string) (net.Listener, error) {
	target := filepath.Join(dataDir, SocketName)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if conn, err := sock.Dial(ctx, target); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("admin socket %s: another weir runs on this data directory; stop it or choose another --data", target)
	}
	private, err := os.MkdirTemp(dataDir, ".sock")
	if err != nil {
		return nil, fmt.Errorf("make the admin socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(private) }() // an empty directory that stays does no harm
	birth := filepath.Join(private, SocketName)
	l, err := sock.Listen(birth)
	if err != nil {
		return nil, fmt.Errorf("make the admin socket: %w", err)
	}
	if err := os.Rename(birth, target); err != nil {
		return nil, fmt.Errorf("make the admin socket: %w", errors.Join(err, l.Close()))
	}
	return l, nil
}
