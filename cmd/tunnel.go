package cmd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// tunnelSeed stands for the node itself where a client wants an address to begin with.
const tunnelSeed = "weir:1"

// dialKafka opens a connection in the Kafka protocol through the API. It fits kgo.Dialer.
func (a *api) dialKafka(ctx context.Context, _, host string) (net.Conn, error) {
	query := ""
	if host != tunnelSeed {
		query = "?host=" + url.QueryEscape(host)
	}
	// The connection outlives the context of the dial, as those of net.Dialer do.
	held, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	res, err := a.send(held, http.MethodPost, "/api/v1/kafka"+query, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"kafka"}}, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	conn, ok := res.Body.(io.ReadWriteCloser)
	if res.StatusCode != http.StatusSwitchingProtocols || !ok {
		res.Body.Close()
		cancel()
		return nil, fmt.Errorf("%s does not go on in the Kafka protocol (%s): is a proxy between, or is it an older weir? Name a Kafka listener with --brokers", a.where, res.Status)
	}
	return &tunnel{ReadWriteCloser: conn, cancel: cancel, name: a.where}, nil
}

// tunnel is a connection through HTTP. It knows no deadlines: the client ends what takes too long by closing it.
type tunnel struct {
	io.ReadWriteCloser
	cancel context.CancelFunc
	name   string
}

func (t *tunnel) Close() error {
	defer t.cancel()
	return t.ReadWriteCloser.Close()
}

func (t *tunnel) LocalAddr() net.Addr              { return tunnelAddr(t.name) }
func (t *tunnel) RemoteAddr() net.Addr             { return tunnelAddr(t.name) }
func (t *tunnel) SetDeadline(time.Time) error      { return nil }
func (t *tunnel) SetReadDeadline(time.Time) error  { return nil }
func (t *tunnel) SetWriteDeadline(time.Time) error { return nil }

type tunnelAddr string

func (tunnelAddr) Network() string  { return "weir" }
func (a tunnelAddr) String() string { return string(a) }
