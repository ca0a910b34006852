package wire

import (
	"crypto/tls"
	"net"
)

// Listener is one place where connections come in, and what is asked of them.
type Listener struct {
	net.Listener
	Name  string      // as the cluster knows it, such as SASL_SSL
	TLS   *tls.Config // nil: plaintext
	Login bool        // nothing is answered but what a log-in needs before there was one (SASL)
}

// principal is who the peer of a connection is before any log-in. Of a certificate that was checked, it is the subject.
func (l *Listener) principal(nc net.Conn) string {
	if l.Login {
		return ""
	}
	if secure, ok := nc.(*tls.Conn); ok {
		if state := secure.ConnectionState(); len(state.VerifiedChains) > 0 {
			return "User:" + subject(state.PeerCertificates[0])
		}
	}
	return Anonymous
}
