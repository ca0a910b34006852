package wire

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync"
)

// joiners put small pieces of an answer together for TLS, which makes a record and a call of the system of each write. They hold the most
// that a record takes.
var joiners = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 16<<10) }}

// writeAll sends the pieces of an answer. Large ones are not copied.
func (c *conn) writeAll(pieces net.Buffers) (int64, error) {
	if _, secure := c.nc.(*tls.Conn); !secure || len(pieces) < 2 {
		return pieces.WriteTo(c.nc)
	}
	w := joiners.Get().(*bufio.Writer)
	w.Reset(c.nc)
	n, err := pieces.WriteTo(w)
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	joiners.Put(w)
	return n, err
}
