package peer

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
)

// The files of a node that the cluster's own authority vouches for, in the directory peer of the data directory.
const (
	caFile    = "ca.pem"
	certFile  = "node.pem"
	keyFile   = "node.key"
	caKeyFile = "ca.key" // of the node that began the cluster, until the cluster state has it
)

// Keys are what a node shows its peers, and whom it believes. Immutable.
type Keys struct {
	cert tls.Certificate
	pool *x509.CertPool
	ca   *x509.Certificate
	// byServer: the cluster's own authority vouches for server ids. An operator's authority vouches for hosts.
	byServer bool
}

// LoadKeys reads what FoundCA or Join has left in dir. fs.ErrNotExist means that there is nothing.
func LoadKeys(dir string) (*Keys, error) {
	k, err := OwnKeys(filepath.Join(dir, certFile), filepath.Join(dir, keyFile), filepath.Join(dir, caFile))
	if err == nil {
		k.byServer = true
	}
	return k, err
}

// OwnKeys reads the certificate and key that an operator gives a node, and the authority that all nodes believe.
func OwnKeys(cert, key, ca string) (*Keys, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for peers: %w", err)
	}
	b, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("read the authority for peers: %w", err)
	}
	first, err := parseCert(b)
	if err != nil {
		return nil, fmt.Errorf("read the authority for peers %s: %w", ca, err)
	}
	k := &Keys{cert: pair, pool: x509.NewCertPool(), ca: first}
	k.pool.AppendCertsFromPEM(b)
	// A node that wants to join knows the authority by its hash only, and has to be shown it.
	if !slices.ContainsFunc(pair.Certificate, func(der []byte) bool { return string(der) == string(first.Raw) }) {
		k.cert.Certificate = append(slices.Clone(pair.Certificate), first.Raw)
	}
	return k, nil
}

// CAHash is the SHA-256 of the authority's certificate.
func (k *Keys) CAHash() [32]byte { return sha256.Sum256(k.ca.Raw) }

// client is for a connection to a peer at address.
func (k *Keys) client(server, address string) *tls.Config {
	name := server
	if !k.byServer {
		name, _, _ = net.SplitHostPort(address)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.cert}, RootCAs: k.pool, ServerName: name}
}

// server asks for certificates and takes connections without one: those of nodes that want to join.
func (k *Keys) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.cert}, ClientCAs: k.pool, ClientAuth: tls.VerifyClientCertIfGiven,
	}
}

// check says why a peer that calls itself server is not believed.
func (k *Keys) check(s tls.ConnectionState, server string) error {
	if len(s.VerifiedChains) == 0 {
		return errors.New("it has shown no certificate of this cluster")
	}
	if k.byServer && !slices.Contains(s.PeerCertificates[0].DNSNames, server) {
		return fmt.Errorf("its certificate is of %v, not of server %s", s.PeerCertificates[0].DNSNames, server)
	}
	return nil
}

func parseCert(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("there is no certificate in PEM form")
	}
	return x509.ParseCertificate(block.Bytes)
}
