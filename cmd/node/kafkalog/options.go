package kafkalog

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Options say how to reach the cluster. No brokers: the built-in log is used.
type Options struct {
	Brokers []string // HOST:PORT of some of its brokers; they tell of the others

	TLS       bool
	CA        string // PEM file of who signs the certificates of brokers; empty: those that the system trusts
	Cert, Key string // PEM files of this node's certificate; empty: none is shown

	Mechanism      string // one of Mechanisms; empty: no log-in
	User, Password string
}

// Mechanisms are the ways to log in, in Kafka's words.
var Mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}

// Validate says which flag has a wrong value, and what is allowed. It reads no file.
func (o Options) Validate() error {
	if len(o.Brokers) == 0 {
		if o.TLS || o.CA != "" || o.Cert != "" || o.Key != "" || o.Mechanism != "" || o.User != "" || o.Password != "" {
			return errors.New("--kafka-brokers: it is missing; the other flags that begin with --kafka-brokers say how to reach it")
		}
		return nil
	}
	for _, addr := range o.Brokers {
		host, port, err := net.SplitHostPort(addr)
		n, portErr := strconv.Atoi(port)
		if err != nil || host == "" || portErr != nil || n < 1 || n > 65535 {
			return fmt.Errorf("--kafka-brokers: %q, want HOST:PORT, several separated by commas, such as kafka1:9092,kafka2:9092", addr)
		}
	}
	switch {
	case !o.TLS && (o.CA != "" || o.Cert != "" || o.Key != ""):
		return errors.New("--kafka-brokers-ca, --kafka-brokers-cert, --kafka-brokers-key: nothing is encrypted without --kafka-brokers-tls: give it too")
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("--kafka-brokers-cert and --kafka-brokers-key go together: give both")
	case o.Mechanism != "" && !slices.Contains(Mechanisms, o.Mechanism):
		return fmt.Errorf("--kafka-brokers-sasl: %q, allowed are %s", o.Mechanism, strings.Join(Mechanisms, ", "))
	case o.Mechanism == "" && (o.User != "" || o.Password != ""):
		return fmt.Errorf("--kafka-brokers-sasl: it is missing; how does the user log in? Allowed are %s", strings.Join(Mechanisms, ", "))
	case o.Mechanism != "" && (o.User == "" || o.Password == ""):
		return errors.New("--kafka-brokers-sasl: give --kafka-brokers-user and --kafka-brokers-password-file too")
	}
	return nil
}

// Client are the options of a client that reaches the cluster, beside its seeds. It reads the files of TLS.
func (o Options) Client() ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if o.TLS {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.CA != "" {
			pem, err := os.ReadFile(o.CA)
			if err != nil {
				return nil, fmt.Errorf("--kafka-brokers-ca: %w", err)
			}
			cfg.RootCAs = x509.NewCertPool()
			if !cfg.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("--kafka-brokers-ca %s: it has no certificate, want a PEM file", o.CA)
			}
		}
		if o.Cert != "" {
			pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
			if err != nil {
				return nil, fmt.Errorf("--kafka-brokers-cert, --kafka-brokers-key: %w", err)
			}
			cfg.Certificates = []tls.Certificate{pair}
		}
		opts = append(opts, kgo.DialTLSConfig(cfg))
	}
	if m := o.mechanism(); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

func (o Options) mechanism() sasl.Mechanism {
	auth := scram.Auth{User: o.User, Pass: o.Password}
	switch o.Mechanism {
	case "PLAIN":
		return plain.Auth{User: o.User, Pass: o.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return auth.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return auth.AsSha512Mechanism()
	}
	return nil
}
