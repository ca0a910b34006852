package peer

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

const (
	// writeWait bounds how long a peer may leave a message unread. Its readers wait for memory, not for its disk.
	writeWait = 10 * time.Second
	// underWay bounds the requests on one connection that wait for their answers; more are refused as not sent.
	underWay = 4096
	// bufferBytes joins what is small, since TLS makes a record of each write.
	bufferBytes = 32 << 10
)

// conn is one connection, of which one side asks and the other answers.
type conn struct {
	nc net.Conn

	writing sync.Mutex // held while one message is written
	w       *bufio.Writer
	head    []byte

	mu     sync.Mutex
	asked  map[uint64]chan<- frame // those who wait; each has room for one
	number uint64
	err    error // set once, when the connection is over
	over   chan struct{}
}

func newConn(nc net.Conn) *conn {
	return &conn{nc: nc, w: bufio.NewWriterSize(nc, bufferBytes), asked: map[uint64]chan<- frame{}, over: make(chan struct{})}
}

// send writes one message whole or ends the connection.
func (c *conn) send(k kind, number uint64, id transport.GroupID, pieces ...[]byte) error {
	size := sizeOf(pieces)
	if size > maxFrame {
		return fmt.Errorf("%w: a message of %d bytes, at most %d are allowed", transport.ErrNotSent, size, maxFrame)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.nc.SetWriteDeadline(time.Now().Add(writeWait))
	c.head = appendFrameHead(c.head[:0], k, number, id, size)
	if err == nil {
		_, err = c.w.Write(c.head)
	}
	for _, p := range pieces {
		if err == nil {
			_, err = c.w.Write(p)
		}
	}
	if err == nil {
		err = c.w.Flush()
	}
	if err != nil {
		c.end(err)
	}
	return err
}

// ask sends a request and waits for its answer, for the connection to end, or for wait. Errors that wrap ErrNotSent say that the peer has
// not seen all of it.
func (c *conn) ask(k kind, id transport.GroupID, wait time.Duration, done <-chan struct{}, pieces ...[]byte) ([]byte, error) {
	answer := make(chan frame, 1)
	number, err := c.expect(answer)
	if err != nil {
		return nil, err
	}
	defer c.forget(number)
	if err := c.send(k, number, id, pieces...); err != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case f := <-answer:
		if f.kind == kindRefusal {
			return nil, fmt.Errorf("%w: %s", transport.ErrRefused, f.body)
		}
		return f.body, nil
	case <-c.over:
		return nil, fmt.Errorf("the connection ended before there was an answer: %w", c.ended())
	case <-timer.C:
		return nil, fmt.Errorf("no answer within %s", wait)
	case <-done:
		return nil, errors.New("given up before there was an answer")
	}
}

func (c *conn) expect(answer chan<- frame) (number uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return 0, fmt.Errorf("%w: %w", transport.ErrNotSent, c.err)
	case len(c.asked) >= underWay:
		return 0, fmt.Errorf("%w: %d requests wait for their answers", transport.ErrNotSent, underWay)
	}
	c.number++
	c.asked[c.number] = answer
	return c.number, nil
}

func (c *conn) forget(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, number)
}

// readAnswers hands answers to those who wait, until the connection ends.
func (c *conn) readAnswers() {
	r := bufio.NewReaderSize(c.nc, bufferBytes)
	for {
		f, err := readFrame(r, func(int) error { return nil })
		if err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		answer := c.asked[f.number]
		delete(c.asked, f.number)
		c.mu.Unlock()
		if answer != nil {
			answer <- f
		}
	}
}

func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.over)
		c.nc.Close()
	}
}

func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
