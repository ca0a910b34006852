package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// errTLS is returned for a connection whose handshake failed.
var errTLS = errors.New("TLS handshake")

// localPrincipal is who in-process connections are.
const localPrincipal = "User:weir"

// meet finds out who the peer is, as far as that can be told before its first request. An error closes the connection.
func (c *conn) meet(l *Listener) error {
	c.client.Session = &Session{}
	if l == nil {
		c.client.Session.Principal, c.client.Local, c.client.Secure = localPrincipal, true, true
		return nil
	}
	c.client.Listener, c.client.Secure = l.Name, l.TLS != nil
	if l.TLS != nil {
		if err := c.handshake(l.TLS); err != nil {
			c.s.metrics.tlsFailed.Inc()
			c.cancel(err)
			c.nc.Close()
			return err
		}
	}
	c.client.Session.Principal = l.principal(c.nc)
	return nil
}

func (c *conn) handshake(cfg *tls.Config) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.s.cfg.StallFor)
	defer cancel()
	secure := tls.Server(c.nc, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("%w: %w", errTLS, err)
	}
	secure.SetDeadline(time.Time{})
	c.s.swap(c, secure)
	return nil
}
