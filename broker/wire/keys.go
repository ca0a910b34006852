package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files name what TLS needs.
type Files struct {
	Cert, Key  string             // PEM, the chain with the server's certificate first
	ClientCA   string             // PEM, who may sign certificates of clients; "" when none are asked for
	ClientAuth tls.ClientAuthType // NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert
}

// Keys is the content of Files, read again when a file has changed. Methods may be called from any goroutine.
type Keys struct {
	files Files
	log   *slog.Logger

	mu      sync.Mutex // guards what follows
	cfg     configs
	seen    [3]stamp
	checked time.Time
}

// configs are what listeners need that know their clients by certificates, and those that have them log in: as with Kafka, who logs in is not
// asked for a certificate.
type configs struct{ certificates, logins *tls.Config }

type stamp struct {
	modified time.Time
	size     int64
}

// checkFiles is how often handshakes look whether a file has changed. Three calls of stat cost microseconds, a handshake a millisecond.
const checkFiles = time.Second

// OpenKeys reads files.
func OpenKeys(files Files, log *slog.Logger) (*Keys, error) {
	k := &Keys{files: files, log: log, seen: stamps(files)}
	var err error
	if k.cfg, err = files.read(); err != nil {
		return nil, err
	}
	return k, nil
}

// Config returns what a listener needs whose clients show certificates, if Files says so, or log in. Each handshake uses the files as they are then; while they can't be used, for instance because only
// one of two was replaced so far, the last good ones stay.
func (k *Keys) Config(login bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			cfg := k.current(time.Now())
			if login {
				return cfg.logins, nil
			}
			return cfg.certificates, nil
		},
	}
}

func (k *Keys) current(now time.Time) configs {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.checked) < checkFiles {
		return k.cfg
	}
	k.checked = now
	seen := stamps(k.files)
	if seen == k.seen {
		return k.cfg
	}
	k.seen = seen
	cfg, err := k.files.read()
	if err != nil {
		k.log.Warn("read the changed TLS files; the former ones stay in use", "err", err)
		return k.cfg
	}
	k.log.Info("TLS files read again", "cert", k.files.Cert)
	k.cfg = cfg
	return cfg
}

func stamps(f Files) (s [3]stamp) {
	for i, path := range []string{f.Cert, f.Key, f.ClientCA} {
		if info, err := os.Stat(path); err == nil {
			s[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

func (f Files) read() (configs, error) {
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return configs{}, fmt.Errorf("certificate %s and key %s: %w", f.Cert, f.Key, err)
	}
	logins := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if f.ClientAuth == tls.NoClientCert {
		return configs{certificates: logins, logins: logins}, nil
	}
	cfg := logins.Clone()
	cfg.ClientAuth = f.ClientAuth
	cfg.SessionTicketsDisabled = true // each connection is checked against the authorities of now
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return configs{}, fmt.Errorf("authorities of clients: %w", err)
	}
	cfg.ClientCAs = x509.NewCertPool()
	if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
		return configs{}, fmt.Errorf("authorities of clients: %s: %w", f.ClientCA, errNoCertificate)
	}
	return configs{certificates: cfg, logins: logins}, nil
}

var errNoCertificate = errors.New("no certificate in PEM form is in it")
