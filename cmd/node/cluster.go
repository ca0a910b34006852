package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/peer"
)

// Cluster says how a node finds the others. The zero value is a node alone: no port is opened.
type Cluster struct {
	Peer      string // HOST:PORT where other nodes come in; empty: none
	Advertise string // HOST:PORT that other nodes are told to dial; empty: that of Peer
	Join      string // HOST:PORT of any node of a cluster to join, when the data directory is empty
	Token     string // with which it may join; a secret
	Cert, Key string // PEM files of an operator's authority; empty: the cluster's own
	CA        string
}

func (c Cluster) validate() error {
	if c.Peer == "" {
		if c != (Cluster{}) {
			return errors.New("--peer: it is empty, want HOST:PORT where the other nodes reach this one")
		}
		return nil
	}
	if err := checkAddr("--peer", c.Peer, 0); err != nil {
		return err
	}
	if c.Advertise != "" {
		if err := checkAddr("--peer-advertise", c.Advertise, 1); err != nil {
			return err
		}
	}
	if c.Join != "" {
		if err := checkAddr("--join", c.Join, 1); err != nil {
			return err
		}
		if _, err := peer.ParseToken(c.Token); err != nil {
			return fmt.Errorf("--join-token: %w", err)
		}
	}
	if n := len(c.Cert + c.Key + c.CA); n > 0 && (c.Cert == "" || c.Key == "" || c.CA == "") {
		return errors.New("--peer-tls-cert, --peer-tls-key, --peer-tls-ca: all three are needed, or none")
	}
	return nil
}

// open binds the port for other nodes. It returns nil without one.
func (c Cluster) open() (*raftfsm.Peers, error) {
	if c.Peer == "" {
		return nil, nil
	}
	p := &raftfsm.Peers{Join: c.Join, Advertise: c.Advertise}
	var err error
	if c.Cert != "" {
		if p.Own, err = peer.OwnKeys(c.Cert, c.Key, c.CA); err != nil {
			return nil, fmt.Errorf("--peer-tls-cert, --peer-tls-key, --peer-tls-ca: %w", err)
		}
	}
	if c.Join != "" {
		if p.Token, err = peer.ParseToken(c.Token); err != nil {
			return nil, fmt.Errorf("--join-token: %w", err)
		}
	}
	if p.Listener, err = net.Listen("tcp", c.Peer); err != nil {
		return nil, fmt.Errorf("listen for other nodes on %s (choose another address with --peer): %w", c.Peer, err)
	}
	if p.Advertise == "" {
		bound := p.Listener.Addr().(*net.TCPAddr).AddrPort()
		if bound.Addr().IsUnspecified() {
			p.Listener.Close()
			return nil, fmt.Errorf("--peer-advertise: it is needed when --peer %s listens on all addresses: say HOST:PORT that the other nodes can dial", c.Peer)
		}
		p.Advertise = netip.AddrPortFrom(bound.Addr().Unmap(), bound.Port()).String()
	}
	return p, nil
}
