package peer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// bulkBytes is from which size on a message takes the connection for large ones. A guess: less than a millisecond on a slow network.
const bulkBytes = 16 << 10

// link is what leads to one peer.
type link struct {
	node  *Node
	to    string
	lanes [2]lane
	beats beats
}

func (l *link) lane(size int) *lane {
	if size > bulkBytes {
		return &l.lanes[1]
	}
	return &l.lanes[0]
}

func (l *link) close() {
	for i := range l.lanes {
		l.lanes[i].close()
	}
}

const (
	// redialSoonest and redialLatest are how long a peer that was not reached is left alone. What is to be sent meanwhile fails at once.
	redialSoonest = 50 * time.Millisecond
	redialLatest  = time.Second
)

// lane is one connection to a peer, dialled when it is needed and again when it has ended.
type lane struct {
	link *link
	use  use

	dialing sync.Mutex // held while dialling: others wait for the same connection

	mu     sync.Mutex
	c      *conn
	closed bool
	failed error // of the last try
	next   time.Time
	wait   time.Duration
}

// get returns a connection, or why there is none.
func (l *lane) get() (*conn, error) {
	if c, err := l.current(); c != nil || err != nil {
		return c, err
	}
	l.dialing.Lock()
	defer l.dialing.Unlock()
	if c, err := l.current(); c != nil || err != nil {
		return c, err
	}
	n := l.link.node
	nc, err := n.dial(n.ctx, l.link.to, l.use)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if l.wait == 0 && l.use == useControl {
			n.cfg.Log.Warn("a peer is not reached", "peer", l.link.to, "err", err)
		}
		l.wait = min(max(2*l.wait, redialSoonest), redialLatest)
		l.failed, l.next = err, time.Now().Add(l.wait)
		return nil, err
	}
	if l.closed {
		nc.Close()
		return nil, errClosed
	}
	if l.wait > 0 && l.use == useControl {
		n.cfg.Log.Info("a peer is reached again", "peer", l.link.to)
	}
	l.c, l.failed, l.wait = newConn(nc), nil, 0
	go l.c.readAnswers()
	return l.c, nil
}

// current returns the open connection, an error when it is too early to try again, or neither.
func (l *lane) current() (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if l.c != nil {
		select {
		case <-l.c.over:
			l.c = nil
		default:
			return l.c, nil
		}
	}
	if l.failed != nil && time.Now().Before(l.next) {
		return nil, l.failed
	}
	return nil, nil
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.c != nil {
		l.c.end(errClosed)
	}
}

const (
	// beatEvery is for how long heartbeats to a peer are gathered. Small against any election timeout.
	beatEvery = 25 * time.Millisecond
	// beatWait is how long a peer may take to answer them. Then its connection is given up: it may be cut off without having said so.
	beatWait = 2 * time.Second
)

// errNotOpen is what a leader gets whose group the peer has not opened yet.
var errNotOpen = errors.New("the peer has not opened the raft group")

// beats gathers the heartbeats of all groups to one peer.
type beats struct {
	mu   sync.Mutex
	next *beatFlight // nil: nobody waits
}

// beatFlight is the heartbeats that travel together.
type beatFlight struct {
	list    []beat
	answers []beatAnswer
	err     error
	done    chan struct{}
}

// add sends a heartbeat with others and waits for its answer.
func (b *beats) add(l *link, h beat, resp *raft.AppendEntriesResponse) error {
	b.mu.Lock()
	f := b.next
	if f == nil {
		f = &beatFlight{done: make(chan struct{})}
		b.next = f
		time.AfterFunc(beatEvery, func() { b.fly(l, f) })
	}
	i := len(f.list)
	f.list = append(f.list, h)
	b.mu.Unlock()
	<-f.done
	switch {
	case f.err != nil:
		return f.err
	case !f.answers[i].known:
		return errNotOpen
	}
	*resp = f.answers[i].resp
	return nil
}

func (b *beats) fly(l *link, f *beatFlight) {
	b.mu.Lock()
	b.next = nil
	b.mu.Unlock()
	defer close(f.done)
	c, err := l.lanes[0].get()
	if err != nil {
		f.err = err
		return
	}
	body, err := c.ask(kindHeartbeats, transport.GroupID{}, beatWait, l.node.ctx.Done(), appendBeats(f.list))
	if err != nil {
		c.end(fmt.Errorf("heartbeats: %w", err))
		f.err = err
		return
	}
	f.answers, f.err = parseBeatAnswers(body, len(f.list))
}
