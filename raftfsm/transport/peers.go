package transport

import (
	"context"
	"errors"
	"net"
)

// Service names what one node asks of another beside raft. Numbers are on the wire: one that was used keeps its meaning.
type Service uint8

// The services of a node.
const (
	// ServiceChange commits a command of the controller; its leader answers.
	ServiceChange Service = 1
	// ServiceVersion says up to which version of the cluster state the leader of the controller has come.
	ServiceVersion Service = 2
	// ServiceLeaders tells which partitions the sender leads.
	ServiceLeaders Service = 3
	// ServiceAppend writes a batch into a partition that the receiver leads.
	ServiceAppend Service = 4
	// ServiceMarker writes the end of a transaction into a partition that the receiver leads.
	ServiceMarker Service = 5
	// ServiceVerify asks about a transaction that the receiver coordinates.
	ServiceVerify Service = 6
)

// ErrNotSent is returned for a call that certainly has not reached the peer. After any other error the peer may have done what was asked.
var ErrNotSent = errors.New("the peer was not reached")

// ErrRefused is returned for a call that the peer has answered with an error, whose text it carries.
var ErrRefused = errors.New("the peer refused")

// Handler answers a call of the peer with that server id. Its error reaches the caller as ErrRefused. body is the handler's.
type Handler func(ctx context.Context, from string, body []byte) ([]byte, error)

// Peers reaches the other nodes of a cluster. Safe for concurrent use.
type Peers interface {
	Network
	// Call asks a service of the peer with that server id and returns its answer, ErrNotSent, ErrRefused, or another error when it is not
	// known whether the peer did what was asked.
	Call(ctx context.Context, to string, s Service, body []byte) ([]byte, error)
	// Handle sets who answers a service. Calls that come before are refused.
	Handle(s Service, h Handler)
	// Stream opens a connection to what the peer has given to HandleStreams.
	Stream(ctx context.Context, to string) (net.Conn, error)
	// HandleStreams sets who takes connections that peers open; it owns them.
	HandleStreams(take func(from string, nc net.Conn))
	// SetAddresses says where the peers are, by server id.
	SetAddresses(addresses map[string]string)
	// Known returns the server ids of the peers that have an address, in no order.
	Known() []string
}

var _ Peers = (*Local)(nil)

// Call implements Peers.
func (l *Local) Call(context.Context, string, Service, []byte) ([]byte, error) {
	return nil, errors.Join(ErrNotSent, ErrNoPeers)
}

// Handle implements Peers; nobody calls.
func (l *Local) Handle(Service, Handler) {}

// Stream implements Peers.
func (l *Local) Stream(context.Context, string) (net.Conn, error) { return nil, ErrNoPeers }

// HandleStreams implements Peers; nobody opens any.
func (l *Local) HandleStreams(func(string, net.Conn)) {}

// SetAddresses implements Peers; there are none.
func (l *Local) SetAddresses(map[string]string) {}

// Known implements Peers.
func (l *Local) Known() []string { return nil }
