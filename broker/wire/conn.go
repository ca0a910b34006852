package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"
)

var (
	errIdle  = errors.New("idle")
	errDrain = errors.New("the node is stopping")
	errLogin = errors.New("no log-in in time")
	errEnded = errors.New("ended after an answer that says why")
)

// conn is one connection, served by three goroutines: read takes frames off the socket, execute hands them to the handler in order,
// write waits for the answers and sends them in order.
//
//	read --frames--> execute --answers--> write
//
// Bounds: both channels hold Config.Pipeline at most, and frames from outside the process count against the memory budget of all connections. When they are full the
// stage before waits, at last in the peer's socket. Only read closes frames, only execute closes answers.
type conn struct {
	s       *Server
	nc      net.Conn
	client  Client
	frames  chan *work
	answers chan *work
	open    atomic.Int64 // requests read and not answered yet
	opened  time.Time
	last    atomic.Int64 // when the last answer was written, Unix nanoseconds
	failed  atomic.Bool  // beyond answering. Draining, or a peer that only stopped sending, is not: what it sent is still executed

	ctx    context.Context // ends when the peer hangs up, the connection fails or the server drains
	cancel context.CancelCauseFunc
}

// work is one request on its way through a connection.
type work struct {
	Request
	release  func() // gives its memory back
	reply    Reply
	answered chan struct{} // closed when the answer is written; nil when nobody waits for that
}

func newConn(s *Server, nc net.Conn, client Client) *conn {
	c := &conn{
		s: s, nc: nc, client: client,
		frames:  make(chan *work, s.cfg.Pipeline),
		answers: make(chan *work, s.cfg.Pipeline),
	}
	c.opened = time.Now()
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(s.ctx, serverKey{}, s.ctx))
	return c
}

// run serves the connection until it ends and returns why; nil when the peer closed it between requests.
func (c *conn) run() error {
	executed, written := make(chan struct{}), make(chan struct{})
	go func() { defer close(executed); c.execute() }()
	go func() { defer close(written); c.write() }()
	err := c.read()
	close(c.frames)
	c.cancel(err) // long polls end, what was read before is still executed
	<-executed
	<-written
	c.nc.Close()
	if cause := context.Cause(c.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause // what failed first: an answer may have been refused while read was waiting
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errDrain) || errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// fail ends the connection from execute or write. The first cause is kept.
func (c *conn) fail(err error) {
	c.failed.Store(true)
	c.cancel(err)
	c.nc.Close()
}

// drain makes read stop; requests already read are executed and answered.
func (c *conn) drain() {
	c.cancel(errDrain)
	c.nc.SetReadDeadline(time.Unix(1, 0))
}

// read takes frames off the socket until it fails.
func (c *conn) read() error {
	in := bufio.NewReaderSize(c.nc, 4<<10)
	budget := c.s.budget
	if c.client.Host == localHost {
		budget = c.s.own
	}
	frames := frameReader{in: in, cfg: &c.s.cfg, budget: budget, deadline: c.setReadDeadline}
	strange := c.strange() // nobody has logged in yet
	frames.stranger = strange
	for {
		c.client.Session.muted(c.ctx)
		if err := c.awaitFrame(in, strange); err != nil {
			return err
		}
		w, err := c.readRequest(&frames)
		if err != nil {
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			return err
		}
		if strange {
			w.answered = make(chan struct{})
		}
		c.open.Add(1)
		select {
		case c.frames <- w:
		case <-c.ctx.Done():
			w.release()
			return context.Cause(c.ctx)
		}
		if strange {
			select {
			case <-w.answered:
			case <-c.ctx.Done():
				return context.Cause(c.ctx)
			}
			strange = c.strange()
			frames.stranger, frames.raw = strange, strange && c.client.Session.Raw
		}
	}
}

// strange reports whether a log-in is asked for and has not been. It is called while no request is under way.
func (c *conn) strange() bool { return c.client.Session.Principal == "" }

// readRequest reads one frame and takes its header off.
func (c *conn) readRequest(frames *frameReader) (*work, error) {
	f, err := frames.next(c.ctx)
	if err != nil {
		return nil, err
	}
	req := Request{Raw: true, Body: f.bytes}
	if !frames.raw {
		if req, err = parseHeader(f.bytes); err != nil {
			f.release()
			return nil, err
		}
	}
	c.s.metrics.requestBytes.Add(float64(len(f.bytes)))
	req.Received = time.Now()
	id := req.Client.ID
	req.Client = c.client
	req.Client.ID = id
	return &work{Request: req, release: f.release}, nil
}

// awaitFrame waits for the first byte of the next frame. A connection is idle when nothing comes while nothing is being answered.
// One that has not logged in has StallFor for that since it was opened.
func (c *conn) awaitFrame(in *bufio.Reader, strange bool) error {
	for {
		limit := c.s.cfg.IdleFor
		if strange {
			limit = time.Until(c.opened.Add(c.s.cfg.StallFor))
		}
		c.setReadDeadline(limit)
		_, err := in.Peek(1)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case c.ctx.Err() != nil:
			return context.Cause(c.ctx)
		case strange:
			return errLogin
		case c.open.Load() == 0 && time.Since(time.Unix(0, c.last.Load())) >= c.s.cfg.IdleFor:
			return errIdle
		}
	}
}

// setReadDeadline never undoes the deadline of drain: drain cancels ctx first and sets its deadline after.
func (c *conn) setReadDeadline(in time.Duration) {
	c.nc.SetReadDeadline(time.Now().Add(in))
	if c.ctx.Err() != nil {
		c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// execute hands requests to the handler in order. After a failure it only gives memory back.
func (c *conn) execute() {
	defer close(c.answers)
	for w := range c.frames {
		if c.failed.Load() {
			w.release()
			continue
		}
		c.client.Session.muted(c.ctx) // what was read ahead waits as well
		w.Client.Principal = c.client.Session.Principal
		w.reply = c.serve(w)
		if w.reply.Wait == nil {
			w.release()
			w.release = func() {}
		}
		c.answers <- w
	}
}

func (c *conn) serve(w *work) (reply Reply) {
	defer func() {
		if p := recover(); p != nil {
			c.s.metrics.panics.Inc()
			reply = Reply{Err: fmt.Errorf("panic in request key %d version %d: %v\n%s", w.Key, w.Version, p, debug.Stack())}
		}
	}()
	return c.s.handler.Serve(c.ctx, &w.Request)
}

// write sends the answers in order. After a failure it still waits for what is pending, since memory is held for it.
func (c *conn) write() {
	var head []byte
	for w := range c.answers {
		body, err := c.result(w)
		w.release()
		if err == nil && !w.reply.Silent && !c.failed.Load() {
			head, err = c.send(head[:0], w, body)
		}
		if w.reply.Done != nil {
			w.reply.Done()
		}
		if err == nil && w.reply.Close {
			err = errEnded
		}
		if err != nil {
			c.fail(err)
		}
		if w.answered != nil {
			close(w.answered)
		}
		c.last.Store(time.Now().UnixNano())
		c.open.Add(-1)
		c.s.metrics.served(w.Key, time.Since(w.Received))
	}
}

func (c *conn) result(w *work) (body net.Buffers, err error) {
	if w.reply.Wait == nil || w.reply.Err != nil {
		return w.reply.Body, w.reply.Err
	}
	defer func() {
		if p := recover(); p != nil {
			c.s.metrics.panics.Inc()
			err = fmt.Errorf("panic in answer to key %d version %d: %v\n%s", w.Key, w.Version, p, debug.Stack())
		}
	}()
	return w.reply.Wait()
}

// slowestPeer is the rate in bytes per second below which a peer that sends a request or takes an answer is given up. A guess: slower than any link in use.
const slowestPeer = 32 << 10

func (c *conn) send(head []byte, w *work, body net.Buffers) ([]byte, error) {
	size := 0
	for _, b := range body {
		size += len(b)
	}
	tags := flexible(w.Key, w.Version) && !w.reply.PlainHeader
	if w.Raw {
		head = binary.BigEndian.AppendUint32(head, uint32(size))
	} else {
		head = appendHeader(head, w.CorrelationID, tags, size)
	}
	out := make(net.Buffers, 0, len(body)+1)
	out = append(append(out, head), body...)
	c.nc.SetWriteDeadline(time.Now().Add(c.s.cfg.StallFor + time.Duration(size)*time.Second/slowestPeer))
	n, err := c.writeAll(out)
	c.s.metrics.responseBytes.Add(float64(n))
	return head, err
}
