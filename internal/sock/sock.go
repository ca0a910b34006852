// Package sock listens and dials on unix sockets in directories whose path is longer than the about 100 bytes that a socket address holds.
package sock

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxPath is the longest path, in bytes, that every system takes in a socket address (macOS: 104 with the final zero).
const maxPath = 100

// Listen listens on a socket at path that only its owner can open. The caller has made sure that nobody else listens there: a file that is
// left over is removed.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", short)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the short name is gone by then
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("guard %s: %w", path, err)
	}
	return &listener{Listener: l, path: path}, nil
}

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// shorten returns a name for path that fits a socket address, for as long as done is not called.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return short, func() { dir.Close() }, nil
}

type listener struct {
	net.Listener
	path string
}

// Close stops listening and removes the socket.
func (l *listener) Close() error {
	err := l.Listener.Close()
	os.Remove(l.path)
	return err
}
