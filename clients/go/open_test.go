package clients

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The user of the listeners that ask for one.
const (
	userName = "judy"
	password = "not a secret"
)

// openNode is a node with a listener of each kind and one user, where everybody may do what no ACL names. The certificate is that of the
// node, of who signs, and of its clients.
type openNode struct {
	plaintext, ssl, saslPlaintext, saslSSL string
	cert, key                              string // PEM files
}

func startOpen(t *testing.T, flags ...string) openNode {
	t.Helper()
	needNode(t)
	dir := t.TempDir()
	data, n := filepath.Join(dir, "data"), openNode{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "cert.key")}
	certify(t, n.cert, n.key)
	for _, scheme := range []string{"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"} {
		flags = append(flags, "--kafka", scheme+"://127.0.0.1:0")
	}
	_, stop, err := startNode(node.binary, data, append(flags, "--kafka-tls-cert", n.cert, "--kafka-tls-key", n.key,
		"--kafka-tls-client-ca", n.cert, "--kafka-tls-client-auth", "required", "--kafka-allow-if-no-acl")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	addUser(t, data, userName, password)
	all, err := listeners(filepath.Join(data, "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	n.plaintext, n.ssl, n.saslPlaintext, n.saslSSL = all["kafka:PLAINTEXT"], all["kafka:SSL"], all["kafka:SASL_PLAINTEXT"], all["kafka:SASL_SSL"]
	return n
}

func addUser(t *testing.T, data, name, password string) {
	t.Helper()
	cmd := exec.Command(node.binary, "kafka", "user", "add", name, "--password-stdin", "--data", data)
	cmd.Stdin = strings.NewReader(password)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("add the user %s: %v\n%s", name, err, out)
	}
}
