package peer

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// inboundBytes bounds what one connection of a peer may have under way here; then it is not read further.
const inboundBytes = 64 << 20

// receive finds out who opened a connection and serves it.
func (n *Node) receive(bare net.Conn) {
	if !n.track(bare) {
		bare.Close()
		return
	}
	defer n.untrack(bare)
	nc := tls.Server(bare, n.cfg.Keys.server())
	h, err := n.greet(nc)
	if err != nil {
		n.cfg.Log.Warn("refuse the connection of a peer", "peer", bare.RemoteAddr().String(), "err", err)
		bare.Close()
		return
	}
	switch h.Use {
	case useJoin:
		n.answerJoin(nc, h.Join)
	case useSnapshot:
		n.receiveSnapshot(nc, raft.ServerID(h.Server))
	case useStream:
		n.mu.Lock()
		take := n.streams
		n.mu.Unlock()
		if take != nil {
			n.untrack(bare)
			take(h.Server, nc)
			return // it is theirs
		}
	default:
		n.receiveFrames(nc, h.Server)
	}
	nc.Close()
}

func (n *Node) track(nc net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return false
	}
	n.inbound[nc] = struct{}{}
	return true
}

func (n *Node) untrack(nc net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.inbound, nc)
}

// greet checks certificate and greeting, and answers it. One that wants to join has shown no certificate and is answered later.
func (n *Node) greet(nc *tls.Conn) (h hello, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, helloWait)
	defer cancel()
	if err := nc.SetDeadline(time.Now().Add(helloWait)); err != nil {
		return h, err
	}
	if err := nc.HandshakeContext(ctx); err != nil {
		return h, fmt.Errorf("TLS handshake: %w", err)
	}
	if h, err = readHello(nc); err != nil {
		return h, err
	}
	if h.Use == useJoin {
		if h.Join == nil {
			return h, fmt.Errorf("%w: nothing is asked for", errMessage)
		}
		return h, nil
	}
	err = n.cfg.Keys.check(nc.ConnectionState(), h.Server)
	switch {
	case err != nil:
	case h.Cluster != n.cfg.ClusterID:
		err = fmt.Errorf("it is of cluster %s, this one is %s", h.Cluster, n.cfg.ClusterID)
	case !n.member(h.Server):
		err = fmt.Errorf("server %s is no member of this cluster, or was removed", h.Server)
	}
	if err != nil {
		return h, errors.Join(err, writeHello(nc, hello{Error: err.Error()}))
	}
	n.learn(h.Server, h.Address)
	if err := writeHello(nc, hello{Cluster: n.cfg.ClusterID, Server: n.cfg.ServerID}); err != nil {
		return h, err
	}
	return h, nc.SetDeadline(time.Time{})
}

func (n *Node) member(server string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.addresses[server]
	return ok
}

// receiveFrames answers requests until the connection ends. Each has a goroutine: some wait for the disk, and none may keep others waiting.
func (n *Node) receiveFrames(nc net.Conn, from string) {
	c := newConn(nc)
	room := semaphore.NewWeighted(inboundBytes)
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	r := bufio.NewReaderSize(nc, bufferBytes)
	for {
		var held int64
		f, err := readFrame(r, func(size int) error {
			held = min(int64(size), inboundBytes)
			return room.Acquire(ctx, held)
		})
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				n.cfg.Log.Debug("the connection of a peer ended", "peer", from, "err", err)
			}
			return
		}
		n.served.Go(func() {
			defer room.Release(held)
			n.answer(ctx, c, from, f)
		})
	}
}

func (n *Node) answer(ctx context.Context, c *conn, from string, f frame) {
	body, err := n.respond(ctx, from, f)
	if err != nil {
		_ = c.send(kindRefusal, f.number, f.group, []byte(err.Error())) // the connection has ended otherwise
		return
	}
	_ = c.send(kindAnswer, f.number, f.group, body)
}

func (n *Node) respond(ctx context.Context, from string, f frame) ([]byte, error) {
	if f.kind != kindCall {
		return n.serve(raft.ServerID(from), f.kind, f.group, f.body, ctx.Done())
	}
	if len(f.body) == 0 {
		return nil, fmt.Errorf("%w: a call of nothing", errMessage)
	}
	n.mu.Lock()
	handle := n.handlers[transport.Service(f.body[0])]
	n.mu.Unlock()
	if handle == nil {
		return nil, fmt.Errorf("service %d is not answered here, or not yet", f.body[0])
	}
	return handle(ctx, from, f.body[1:])
}

const (
	// snapshotStall is how long either side of a snapshot may stand still, snapshotWait how long installing may take once all bytes are there.
	snapshotStall = 30 * time.Second
	snapshotWait  = 5 * time.Minute
)

// copySlowly copies as long as something moves.
func copySlowly(nc net.Conn, from io.Reader) error {
	buf := make([]byte, bufferBytes)
	for {
		k, err := from.Read(buf)
		if k > 0 {
			if err := nc.SetWriteDeadline(time.Now().Add(snapshotStall)); err != nil {
				return err
			}
			if _, err := nc.Write(buf[:k]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stalling fails a read that takes too long.
type stalling struct {
	nc net.Conn
	r  io.Reader
}

func (s stalling) Read(b []byte) (int, error) {
	if err := s.nc.SetReadDeadline(time.Now().Add(snapshotStall)); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

// receiveSnapshot hands one snapshot to its group and says how that went: one byte, 1 for yes, and the answer or the text of an error, after
// its size as u32.
func (n *Node) receiveSnapshot(nc net.Conn, from raft.ServerID) {
	r := bufio.NewReaderSize(nc, bufferBytes)
	slow := stalling{nc, r}
	head, err := readFrame(r, func(size int) error {
		if size > maxHello {
			return fmt.Errorf("%w: snapshot with a head of %d bytes", errMessage, size)
		}
		return nil
	})
	var body []byte
	if err == nil {
		body, err = n.serveSnapshot(from, head.body, slow, n.ctx.Done())
	}
	ok := byte(1)
	if err != nil {
		ok, body = 0, []byte(err.Error())
	}
	out := binary.BigEndian.AppendUint32([]byte{ok}, uint32(len(body)))
	if nc.SetWriteDeadline(time.Now().Add(writeWait)) == nil {
		_, _ = nc.Write(append(out, body...)) // who waits for it sees the connection end
	}
}

func readSnapshotAnswer(nc net.Conn) ([]byte, error) {
	if err := nc.SetReadDeadline(time.Now().Add(snapshotWait)); err != nil {
		return nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(nc, head[:]); err != nil {
		return nil, fmt.Errorf("wait for the snapshot to be installed: %w", err)
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxHello {
		return nil, fmt.Errorf("%w: answer of %d bytes", errMessage, size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(nc, body); err != nil {
		return nil, fmt.Errorf("wait for the snapshot to be installed: %w", err)
	}
	if head[0] != 1 {
		return nil, fmt.Errorf("%w: %s", transport.ErrRefused, body)
	}
	return body, nil
}
