package clients

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// login is how a client gets into a listener with TLS and SCRAM-SHA-512.
type login struct {
	ca             string // PEM file of who signed the node's certificate
	user, password string
}

// logins are those of the nodes that ask for one, by their address. Clients elsewhere do not log in.
var logins = map[string]*login{}

func (l *login) tls() *tls.Config {
	pool, text := x509.NewCertPool(), []byte(nil)
	text, err := os.ReadFile(l.ca)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		panic(fmt.Sprintf("no certificate in %s: %v", l.ca, err))
	}
	return &tls.Config{RootCAs: pool}
}

func (l *login) env() []string {
	return []string{"CLIENTS_CA=" + l.ca, "CLIENTS_USER=" + l.user, "CLIENTS_PASSWORD=" + l.password}
}

// secured is a node of its own with listeners that ask for a log-in, and what its owner does with it.
type secured struct {
	t        *testing.T
	dir      string
	ssl      string // address of sasl_ssl
	plain    string // address of sasl_plaintext
	ca       string
	settings string // file of settings for Kafka's tools, of the super user admin over sasl_ssl
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	needNode(t)
	dir := t.TempDir()
	s := &secured{t: t, dir: filepath.Join(dir, "data"), ca: filepath.Join(dir, "ca.pem")}
	key := filepath.Join(dir, "ca.key")
	certify(t, s.ca, key)
	_, stop, err := startNode(node.binary, s.dir, "--kafka", "sasl_ssl://127.0.0.1:0", "--kafka", "sasl_plaintext://127.0.0.1:0",
		"--kafka-tls-cert", s.ca, "--kafka-tls-key", key, "--kafka-super-users", "User:admin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	all, err := listeners(filepath.Join(s.dir, "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s.ssl, s.plain = all["kafka:SASL_SSL"], all["kafka:SASL_PLAINTEXT"]
	if s.ssl == "" || s.plain == "" {
		t.Fatalf("listeners: %v", all)
	}
	s.weir("admin-secret", "kafka", "user", "add", "admin", "--password-stdin")
	s.settings = s.client("SASL_SSL", "admin", "admin-secret")
	return s
}

// weir runs a command of the node's owner.
func (s *secured) weir(stdin string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(node.binary, args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "WEIR_DATA="+s.dir), strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("weir %v: %v\n%s", args, err, out)
	}
}

// client writes a file of settings for Kafka's tools.
func (s *secured) client(protocol, user, password string) string {
	file := filepath.Join(filepath.Dir(s.dir), protocol+"-"+user+".properties")
	text := fmt.Sprintf("security.protocol=%s\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\nssl.truststore.location=%s\n"+
		"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username=\"%s\" password=\"%s\";\n", protocol, s.ca, user, password)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// certify makes a certificate of 127.0.0.1 that signs itself.
func certify(t *testing.T, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "weir"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecured runs each client over TLS with SCRAM-SHA-512: what its ACLs allow works, what they do not is told as an error of permission.
func TestSecured(t *testing.T) {
	s := startSecured(t)
	s.weir("ada-secret", "kafka", "user", "add", "ada", "--password-stdin")
	s.weir("", "acl", "add", "--principal", "User:ada", "--operation", "read,write", "--topic", "open.", "--prefixed")
	s.weir("", "acl", "add", "--principal", "User:ada", "--operation", "read", "--group", "*")
	logins[s.ssl] = &login{s.ca, "ada", "ada-secret"}
	t.Cleanup(func() { delete(logins, s.ssl) })
	for _, name := range []string{"franz", "sarama", "sarama-default", "segmentio", "confluent", "kafkajs", "java"} {
		t.Run(name, func(t *testing.T) {
			d := s.driver(t, name)
			open, closed := "open."+name, "closed."+name
			s.weir("", "topics", "create", open)
			s.weir("", "topics", "create", closed)
			recs := numbered(0, 5)
			mustProduce(t, d, open, 0, produceOpts{}, recs)
			got, err := d.consume(timeout(t, time.Minute), open, 0, 0, len(recs))
			if err != nil || len(got) != len(recs) || string(got[4].Value) != string(recs[4].Value) {
				t.Errorf("%d records of %d: %v", len(got), len(recs), err)
			}
			if err := d.produce(timeout(t, time.Minute), closed, 0, produceOpts{Codec: "none"}, recs); !isDenied(err) {
				t.Errorf("writing what is not allowed: %v", err)
			}
			if got, err := d.consume(timeout(t, 10*time.Second), closed, 0, 0, 1); len(got) != 0 || !isDenied(err) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("reading what is not allowed: %d records, %v", len(got), err)
			}
		})
	}
}

func (s *secured) driver(t *testing.T, name string) driver {
	t.Helper()
	switch name {
	case "kafkajs":
		path := program(t, "node")
		if _, err := os.Stat("../node/node_modules"); err != nil {
			t.Skip("the Node clients are not installed: npm ci in clients/node")
		}
		return startRemoteWith(t, logins[s.ssl].env(), path, "../node/kafkajs.mjs", s.ssl)
	case "java":
		java, path := javaPath(t)
		return startRemoteWith(t, logins[s.ssl].env(), java, append(append([]string{}, jvm...), "-cp", path, "weir.clients.Client", s.ssl)...)
	case "confluent":
		if drivers[name] == nil {
			t.Skip("confluent-kafka-go needs cgo")
		}
	}
	return drivers[name](s.ssl)
}

// isDenied also takes the error that kafka-go makes itself of a topic that is left out of the list of all topics.
func isDenied(err error) bool {
	return errors.Is(err, kafka.UnknownTopicOrPartition) || err != nil && regexp.MustCompile(`(?i)not ?authorized|authorization ?(exception|failed)`).MatchString(err.Error())
}

// TestKafkaToolsOfAccess runs kafka-acls and kafka-configs as the owner of a cluster does, over both kinds of listeners with log-ins.
func TestKafkaToolsOfAccess(t *testing.T) {
	const acls, configs = "org.apache.kafka.tools.AclCommand", "kafka.admin.ConfigCommand"
	s := startSecured(t)
	javaPath(t)
	plain := s.client("SASL_PLAINTEXT", "admin", "admin-secret")
	bob := s.client("SASL_SSL", "bob", "bob-secret")
	for _, c := range []struct {
		name, seed, settings, class, args, want string
		fails                                   bool
	}{
		{"scram-add", s.ssl, s.settings, configs, "--alter --entity-type users --entity-name bob --add-config SCRAM-SHA-512=[iterations=8192,password=bob-secret]", "Completed updating", false},
		{"scram-describe", s.plain, plain, configs, "--describe --entity-type users --entity-name bob", `SCRAM-SHA-512=iterations=8192`, false},
		{"acls-refused", s.ssl, bob, acls, "--list", "(?i)cluster authorization failed|ClusterAuthorizationException", true},
		{"acls-add", s.ssl, s.settings, acls, "--add --allow-principal User:bob --operation Read --operation Write --topic orders --resource-pattern-type prefixed", "operation=WRITE, permissionType=ALLOW", false},
		{"acls-consumer", s.plain, plain, acls, "--add --allow-principal User:bob --consumer --topic orders --group g", `resourceType=GROUP`, false},
		{"acls-producer", s.plain, plain, acls, "--add --allow-principal User:bob --producer --topic orders --transactional-id t --idempotent", `resourceType=TRANSACTIONAL_ID`, false},
		{"acls-deny", s.ssl, s.settings, acls, "--add --deny-principal User:* --deny-host 10.1.2.3 --operation All --cluster", `host=10.1.2.3, operation=ALL, permissionType=DENY`, false},
		{"acls-list", s.ssl, s.settings, acls, "--list --principal User:bob", `name=orders, patternType=PREFIXED`, false},
		{"acls-list-topic", s.ssl, s.settings, acls, "--list --topic orders-eu --resource-pattern-type match", `name=orders, patternType=PREFIXED`, false},
		{"topics-as-bob", s.ssl, bob, "org.apache.kafka.tools.TopicCommand", "--list", `^\s*$`, false},
		{"acls-remove", s.ssl, s.settings, acls, "--remove --force --allow-principal User:bob --operation Read --operation Write --topic orders --resource-pattern-type prefixed", "", false},
		{"acls-removed", s.plain, plain, acls, "--list --topic orders --resource-pattern-type prefixed", `^\s*$`, false},
		{"quota-add", s.ssl, s.settings, configs, "--alter --entity-type users --entity-name bob --entity-type clients --entity-name app --add-config producer_byte_rate=1024,consumer_byte_rate=2048,request_percentage=12.5", "Completed updating", false},
		{"quota-default", s.plain, plain, configs, "--alter --entity-type users --entity-default --add-config producer_byte_rate=4096", "Completed updating", false},
		{"quota-describe", s.ssl, s.settings, configs, "--describe --entity-type users --entity-name bob --entity-type clients --entity-name app", `request_percentage=12.5`, false},
		{"quota-describe-default", s.ssl, s.settings, configs, "--describe --entity-type users --entity-default", `the default user-principal are producer_byte_rate=4096`, false},
		{"quota-of-address", s.ssl, s.settings, configs, "--alter --entity-type ips --entity-name 127.0.0.1 --add-config connection_creation_rate=10", "quotas are of users and client ids here", true},
		{"quota-delete", s.ssl, s.settings, configs, "--alter --entity-type users --entity-name bob --entity-type clients --entity-name app --delete-config producer_byte_rate,consumer_byte_rate,request_percentage", "Completed updating", false},
		{"quota-deleted", s.plain, plain, configs, "--describe --entity-type users --entity-name bob --entity-type clients --entity-name app", `^\s*$`, false},
		{"scram-delete", s.ssl, s.settings, configs, "--alter --entity-type users --entity-name bob --delete-config SCRAM-SHA-512", "Completed updating", false},
		{"bob-is-gone", s.ssl, bob, acls, "--list", "(?i)authentication ?failed|SaslAuthenticationException|log-in failed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := tool(t, "", c.class, append(strings.Fields(c.args), "--bootstrap-server", c.seed, "--command-config", c.settings)...)
			if err != nil && !c.fails || !regexp.MustCompile(c.want).MatchString(out) {
				t.Errorf("%v\n%s\nwant a match of %s", err, out, c.want)
			}
		})
	}
}
