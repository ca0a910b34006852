package peer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

const (
	// caYears and certYears are how long certificates hold. Nothing renews them: whoever wants shorter ones brings an authority of their own.
	caYears, certYears = 30, 30
	// clockSlack is how far the clocks of nodes may be apart at the start.
	clockSlack = 48 * time.Hour
)

// Authority vouches for the nodes of one cluster. Both fields are PEM; Key is a secret.
type Authority struct {
	Cert, Key []byte
}

// NewAuthority makes the authority of a cluster.
func NewAuthority(clusterID string, now time.Time) (Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Authority{}, fmt.Errorf("make the cluster's authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "weir cluster " + clusterID},
		NotBefore: now.Add(-clockSlack), NotAfter: now.AddDate(caYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Authority{}, fmt.Errorf("make the cluster's authority: %w", err)
	}
	text, err := keyPEM(key)
	return Authority{Cert: certPEM(der), Key: text}, err
}

// Issue vouches for the node with that server id, whose public key is that of a PKCS #10 request in DER.
func (a Authority) Issue(request []byte, server string, now time.Time) ([]byte, error) {
	q, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = q.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("read the request for a certificate: %w", err)
	}
	return a.sign(q.PublicKey, server, now)
}

func (a Authority) sign(public any, server string, now time.Time) ([]byte, error) {
	ca, err := parseCert(a.Cert)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's authority: %w", err)
	}
	block, _ := pem.Decode(a.Key)
	if block == nil {
		return nil, errors.New("read the key of the cluster's authority: it is not in PEM form")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the key of the cluster's authority: %w", err)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("read the key of the cluster's authority: a %T can't sign", parsed)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: server}, DNSNames: []string{server},
		NotBefore: now.Add(-clockSlack), NotAfter: now.AddDate(certYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(ca.NotAfter) {
		template.NotAfter = ca.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, public, signer)
	if err != nil {
		return nil, fmt.Errorf("vouch for server %s: %w", server, err)
	}
	return certPEM(der), nil
}

// FoundCA makes an authority and a certificate for this node and leaves them in dir, unless they are there.
func FoundCA(dir, clusterID, server string, now time.Time) error {
	if _, err := os.Stat(filepath.Join(dir, certFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a, err := NewAuthority(clusterID, now)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make this node's key: %w", err)
	}
	cert, err := a.sign(key.Public(), server, now)
	if err != nil {
		return err
	}
	text, err := keyPEM(key)
	if err != nil {
		return err
	}
	return writeFiles(dir, file{caFile, a.Cert}, file{caKeyFile, a.Key}, file{keyFile, text}, file{certFile, cert})
}

// Founded returns the authority that FoundCA has left in dir, and false once the cluster has it or when there was none.
func Founded(dir string) (a Authority, ok bool, err error) {
	if a.Key, err = os.ReadFile(filepath.Join(dir, caKeyFile)); errors.Is(err, fs.ErrNotExist) {
		return Authority{}, false, nil
	}
	if err == nil {
		a.Cert, err = os.ReadFile(filepath.Join(dir, caFile))
	}
	return a, err == nil, err
}

// HandedOver removes the key of the authority from dir, once the cluster state has it.
func HandedOver(dir string) error {
	err := os.Remove(filepath.Join(dir, caKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

type file struct {
	name string
	body []byte
}

// writeFiles writes in order, each whole and durable; the last one says that all are there.
func writeFiles(dir string, files ...file) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of keys: %w", err)
	}
	for _, f := range files {
		if err := writeFile(filepath.Join(dir, f.name), f.body); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return syncDir(dir)
}

func writeFile(path string, body []byte) error {
	tmp, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = tmp.Write(body)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func serial() *big.Int {
	var b [16]byte
	rand.Read(b[:])
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}
