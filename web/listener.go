package web

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
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

// maxSocketPath is what fits into a socket address on Linux, less the terminating zero. It is 103 on some other systems, which the kernel says itself.
const maxSocketPath = 107

// listenSocket makes the admin socket. It is bound inside a directory that only we may enter and moved to its place once its mode is set, so that
// nobody else can ever connect. A socket that a crash left behind is replaced.
func listenSocket(dataDir string) (net.Listener, error) {
	target := filepath.Join(dataDir, SocketName)
	if conn, err := net.DialTimeout("unix", target, time.Second); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("admin socket %s: another weir runs on this data directory; stop it or choose another --data", target)
	}
	private, err := os.MkdirTemp(dataDir, ".s")
	if err != nil {
		return nil, fmt.Errorf("make the admin socket: %w", err)
	}
	defer os.RemoveAll(private) //nolint:errcheck // an empty directory that stays does no harm
	birth := filepath.Join(private, "s")
	if longest := max(len(target), len(birth)); longest > maxSocketPath {
		return nil, fmt.Errorf("admin socket %s: the path has %d bytes, and %d is the most for a socket; choose a shorter --data", target, longest, maxSocketPath)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: birth, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make the admin socket: %w", err)
	}
	l.SetUnlinkOnClose(false) // its name is another by then; the server removes it
	if err = os.Chmod(birth, 0o600); err == nil {
		err = os.Rename(birth, target)
	}
	if err != nil {
		return nil, fmt.Errorf("make the admin socket: %w", errors.Join(err, l.Close()))
	}
	return l, nil
}
