package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// KafkaAccess says who may use the Kafka listeners, and how they prove who they are.
type KafkaAccess struct {
	Cert, Key      string        // PEM files of the listeners with TLS
	ClientCA       string        // PEM file of who signs certificates of clients
	ClientAuth     string        // one of ClientAuths
	AllowAnonymous bool          // listeners that others reach may go without authentication
	SuperUsers     string        // principals that may do everything, with semicolons between, since subjects have commas
	AllowIfNone    bool          // what no ACL names is open to every principal
	Reauthenticate time.Duration // after which a log-in is to be repeated; 0: never
}

// What --kafka-tls-client-auth may be, in Kafka's words.
const (
	ClientAuthNone      = "none"
	ClientAuthRequested = "requested" // who shows none is anonymous
	ClientAuthRequired  = "required"
)

// ClientAuths are all of them.
var ClientAuths = []string{ClientAuthNone, ClientAuthRequested, ClientAuthRequired}

func (a KafkaAccess) validate() error {
	switch {
	case (a.Cert == "") != (a.Key == ""):
		return errors.New("--kafka-tls-cert and --kafka-tls-key go together: give both")
	case !slices.Contains(ClientAuths, a.ClientAuth):
		return fmt.Errorf("--kafka-tls-client-auth: %q, allowed are %s", a.ClientAuth, strings.Join(ClientAuths, ", "))
	case a.ClientAuth != ClientAuthNone && a.ClientCA == "":
		return fmt.Errorf("--kafka-tls-client-auth %s: give --kafka-tls-client-ca too, a PEM file of who signs the certificates of clients", a.ClientAuth)
	case a.ClientAuth == ClientAuthNone && a.ClientCA != "":
		return errors.New("--kafka-tls-client-ca: nobody is asked for a certificate: give --kafka-tls-client-auth required or requested too")
	case a.Reauthenticate != 0 && (a.Reauthenticate < time.Second || a.Reauthenticate > 24*time.Hour):
		return fmt.Errorf("--kafka-reauthenticate: %s, 1s to 24h are allowed, or 0 for never", a.Reauthenticate)
	}
	for _, p := range a.superUsers() {
		if name, ok := strings.CutPrefix(p, "User:"); !ok || name == "" {
			return fmt.Errorf("--kafka-super-users: %q, want User:NAME, such as User:ada or User:CN=ada,O=Example; several are separated by semicolons", p)
		}
	}
	return nil
}

func (a KafkaAccess) superUsers() []string {
	var list []string
	for p := range strings.SplitSeq(a.SuperUsers, ";") {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

// authenticates reports whether everybody who uses a listener proves who he is.
func (a KafkaAccess) authenticates(l kafkaListener) bool {
	return l.login() || l.tls() && a.ClientAuth == ClientAuthRequired
}

// guard refuses listeners that strangers could use.
func (a KafkaAccess) guard(list []kafkaListener) error {
	for _, l := range list {
		if a.authenticates(l) || loopback(l.addr) || a.AllowAnonymous {
			continue
		}
		return fmt.Errorf("--kafka %s://%s: others than this machine reach that address, and nothing asks them who they are. Do one of these: "+
			"let them log in (--kafka sasl_ssl://%s with --kafka-tls-cert and --kafka-tls-key; people are added by \"weir kafka user add\"), "+
			"ask for certificates (--kafka ssl://%s with --kafka-tls-client-auth required), listen on 127.0.0.1 only, "+
			"or give --kafka-allow-anonymous when the network itself keeps strangers out", l.scheme, l.addr, l.addr, l.addr)
	}
	return nil
}

// keys reads the files of TLS; nil when no listener needs them.
func (a KafkaAccess) keys(list []kafkaListener, log *slog.Logger) (*wire.Keys, error) {
	if !slices.ContainsFunc(list, kafkaListener.tls) {
		if a.Cert != "" {
			return nil, errors.New("--kafka-tls-cert: no listener speaks TLS: give --kafka ssl://HOST:PORT or sasl_ssl://HOST:PORT")
		}
		return nil, nil
	}
	if a.Cert == "" {
		return nil, errors.New("--kafka: a listener with TLS needs --kafka-tls-cert and --kafka-tls-key")
	}
	modes := map[string]tls.ClientAuthType{
		ClientAuthNone: tls.NoClientCert, ClientAuthRequested: tls.VerifyClientCertIfGiven, ClientAuthRequired: tls.RequireAndVerifyClientCert,
	}
	keys, err := wire.OpenKeys(wire.Files{Cert: a.Cert, Key: a.Key, ClientCA: a.ClientCA, ClientAuth: modes[a.ClientAuth]}, log)
	if err != nil {
		return nil, fmt.Errorf("--kafka-tls-cert, --kafka-tls-key, --kafka-tls-client-ca: %w", err)
	}
	return keys, nil
}

// policy is what the broker is told. Permissions are looked at once any listener finds out who its clients are: before that all are the same
// one that nobody knows.
func (a KafkaAccess) policy(list []kafkaListener) (policy acl.Policy, enforced bool) {
	asks := func(l kafkaListener) bool { return l.login() || l.tls() && a.ClientAuth != ClientAuthNone }
	return acl.Policy{SuperUsers: a.superUsers(), AllowIfNone: a.AllowIfNone}, slices.ContainsFunc(list, asks)
}
