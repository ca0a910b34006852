package node

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// kafkaListener is one Kafka listener as the flags ask for it.
type kafkaListener struct {
	scheme    string // one of schemes
	name      string // as the cluster knows it
	addr      string // HOST:PORT
	advertise string // HOST:PORT, "" for that of the listener
}

// schemes are Kafka's security protocols.
var schemes = []string{"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"}

func (l kafkaListener) tls() bool   { return strings.HasSuffix(l.scheme, "ssl") }
func (l kafkaListener) login() bool { return strings.HasPrefix(l.scheme, "sasl_") }

// splitScheme takes the scheme off an address; plaintext when it has none.
func splitScheme(flag, s string) (scheme, addr string, err error) {
	scheme, addr, found := strings.Cut(s, "://")
	if !found {
		return schemes[0], s, nil
	}
	for _, known := range schemes {
		if strings.EqualFold(scheme, known) {
			return known, addr, nil
		}
	}
	return "", "", fmt.Errorf("%s: %q begins with %q, allowed are %s://", flag, s, scheme, strings.Join(schemes, "://, "))
}

// kafkaListeners reads --kafka and --kafka-advertise. The second listener of a kind is named with -2, and so on; the advertised addresses of
// a kind belong to its listeners in order. One without a kind belongs to the first listener.
func (c Config) kafkaListeners() ([]kafkaListener, error) {
	var list []kafkaListener
	count := map[string]int{}
	for _, s := range c.Kafka {
		scheme, addr, err := splitScheme("--kafka", s)
		if err != nil {
			return nil, err
		}
		if err := checkAddr("--kafka", addr, 0); err != nil {
			return nil, err
		}
		l := kafkaListener{scheme: scheme, name: strings.ToUpper(scheme), addr: addr}
		if count[scheme]++; count[scheme] > 1 {
			l.name += "-" + strconv.Itoa(count[scheme])
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--kafka: it is empty, want HOST:PORT")
	}
	for _, s := range c.KafkaAdvertise {
		if err := advertise(list, s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func advertise(list []kafkaListener, s string) error {
	scheme, addr, err := splitScheme("--kafka-advertise", s)
	if err != nil {
		return err
	}
	if err := checkAddr("--kafka-advertise", addr, 1); err != nil {
		return err
	}
	if host, _, _ := net.SplitHostPort(addr); host == "" {
		return fmt.Errorf("--kafka-advertise: %q has no host, want HOST:PORT that clients can dial", s)
	}
	for i := range list {
		l := &list[i]
		if l.advertise == "" && (l.scheme == scheme || !strings.Contains(s, "://")) {
			l.advertise = addr
			return nil
		}
		if !strings.Contains(s, "://") {
			break // without a kind it is for the first
		}
	}
	return fmt.Errorf("--kafka-advertise: %q belongs to no listener that has no address yet: give --kafka %s://HOST:PORT too", s, scheme)
}

// brokerListeners are what the broker is told of them, and of who may use them.
func (n *Node) brokerListeners() ([]broker.Listener, api.Access, error) {
	access := n.cfg.KafkaAccess
	list, err := n.cfg.kafkaListeners()
	if err == nil {
		err = access.guard(list)
	}
	if err != nil {
		return nil, api.Access{}, err
	}
	keys, err := access.keys(list, n.room("broker"))
	if err != nil {
		return nil, api.Access{}, err
	}
	var listeners []broker.Listener
	for _, l := range list {
		b := broker.Listener{Name: l.name, Addr: l.addr, Login: l.login()}
		if l.tls() {
			b.TLS = keys.Config(l.login())
		}
		listeners = append(listeners, b)
	}
	policy, enforced := access.policy(list)
	return listeners, api.Access{Enforced: enforced, Policy: policy, Reauthenticate: access.Reauthenticate}, nil
}

// registration is what the cluster is told of this node.
func (n *Node) registration() (state.Broker, error) {
	b := state.Broker{ID: n.cfg.NodeID, ServerID: n.ctl.ServerID(), Peer: n.ctl.PeerAddress()}
	list, err := n.cfg.kafkaListeners()
	if err != nil {
		return b, err
	}
	for i, bound := range n.broker.Addrs() {
		host, port, err := list[i].advertised(bound)
		if err != nil {
			return b, err
		}
		if i == 0 {
			b.Host, b.Port = host, port
		}
		if len(list) > 1 {
			b.Listeners = append(b.Listeners, state.Listener{Name: list[i].name, Host: host, Port: port})
		}
	}
	return b, nil
}

// advertised returns the host and port that clients are told to dial. A listener on all addresses advertises the loopback address, because
// no other is known to be right.
func (l kafkaListener) advertised(bound net.Addr) (host string, port int32, err error) {
	addr := l.advertise
	if addr == "" {
		addr = bound.String()
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("--kafka-advertise: %q: %w", addr, err)
	}
	n, err := strconv.Atoi(portText)
	if err != nil {
		return "", 0, fmt.Errorf("--kafka-advertise: %q: %w", addr, err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return host, int32(n), nil
}

// loopback reports whether only this machine reaches an address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
