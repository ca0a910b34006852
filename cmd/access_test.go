package cmd

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/internal/testkit"
)

// A node is opened safely with nothing but its commands, which reach it whatever its Kafka listeners ask for.
func TestUsersAndACLsOfAKafkaListener(t *testing.T) {
	kcat := testkit.Program(t, "kcat")
	n := testkit.StartNode(t, "", "--kafka", "sasl_plaintext://127.0.0.1:0")
	var status struct {
		Listeners map[string]string `json:"listeners"`
	}
	if _, err := n.Admin(http.MethodGet, "/api/v1/status", nil, &status); err != nil {
		t.Fatal(err)
	}
	weir := func(stdin string, args ...string) string {
		t.Helper()
		out, errOut, err := testkit.Exec(t, testkit.Binary(t), stdin, []string{"WEIR_DATA=" + n.Dir}, args...)
		if err != nil {
			t.Fatalf("weir %v: %v\n%s", args, err, errOut)
		}
		return out
	}
	client := func(stdin, password, mechanism string, args ...string) (string, string) {
		t.Helper()
		args = append([]string{"-b", status.Listeners["kafka:SASL_PLAINTEXT"], "-m", "3", "-X", "security.protocol=sasl_plaintext",
			"-X", "sasl.mechanism=" + mechanism, "-X", "sasl.username=ada", "-X", "sasl.password=" + password}, args...)
		out, errOut, _ := testkit.Exec(t, kcat, stdin, nil, args...)
		return out, errOut
	}
	weir("first password", "kafka", "user", "add", "ada", "--password-stdin")
	weir("", "topics", "create", "orders")
	if _, errOut := client("", "first password", "PLAIN", "-C", "-t", "orders", "-e"); !strings.Contains(errOut, "authorization failed") {
		t.Errorf("without an ACL: %s", errOut)
	}
	weir("", "acl", "add", "--principal", "User:ada", "--operation", "read,write", "--topic", "ord", "--prefixed")
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		client(mechanism, "first password", mechanism, "-P", "-t", "orders")
	}
	want := "PLAIN\nSCRAM-SHA-256\nSCRAM-SHA-512\n"
	if out, errOut := client("", "first password", "SCRAM-SHA-256", "-C", "-t", "orders", "-e", "-q"); out != want {
		t.Errorf("read %q, want %q\n%s", out, want, errOut)
	}
	weir("second password", "kafka", "user", "password", "ada", "--password-stdin")
	if _, errOut := client("", "first password", "PLAIN", "-L"); !strings.Contains(errOut, "wrong user or password") {
		t.Errorf("with the former password: %s", errOut)
	}
	if list := weir("", "acl", "list"); !strings.Contains(list, "User:ada") || !strings.Contains(list, "prefixed") {
		t.Errorf("acl list:\n%s", list)
	}
	if out := weir("", "acl", "remove", "--principal", "User:ada"); out != "removed 2\n" {
		t.Errorf("acl remove: %s", out)
	}
	weir("", "kafka", "user", "remove", "ada")
	if out := weir("", "kafka", "user", "list", "--json"); out != `{"users":[]}`+"\n" {
		t.Errorf("kafka user list: %s", out)
	}
}

func TestQuotasOfKafkaClients(t *testing.T) {
	n := testkit.StartNode(t, "")
	weir := func(args ...string) (string, error) {
		t.Helper()
		out, errOut, err := testkit.Exec(t, testkit.Binary(t), "", []string{"WEIR_DATA=" + n.Dir}, append([]string{"quota"}, args...)...)
		return out + errOut, err
	}
	for _, c := range []struct {
		args, want string
		fails      bool
	}{
		{"set --user shop --client-id app --producer-byte-rate 1000", "set 1\n", false},
		{"set --each-user --consumer-byte-rate 2000 --request-percentage 12.5", "set 2\n", false},
		{"set --user shop", "say how much", true},
		{"set --producer-byte-rate 1", "say whose", true},
		{"set --user shop --each-user --producer-byte-rate 1", "exclude each other", true},
		{"set --user shop --producer-byte-rate -1", "more than 0", true},
		{"list --json", `{"quotas":[{"user":"","limits":{"consumer_byte_rate":2000,"request_percentage":12.5}},` +
			`{"user":"shop","client_id":"app","limits":{"producer_byte_rate":1000}}]}` + "\n", false},
		{"list", `"shop"  "app"      producer_byte_rate  1000`, false},
		{"remove --user shop", "no such limit", true},
		{"remove --each-user --limit nonsense", "is none", true},
		{"remove --each-user --limit consumer_byte_rate", "removed 1\n", false},
		{"remove --user shop --client-id app", "removed 1\n", false},
		{"list --json", `{"quotas":[{"user":"","limits":{"request_percentage":12.5}}]}` + "\n", false},
	} {
		out, err := weir(strings.Fields(c.args)...)
		if (err != nil) != c.fails || !strings.Contains(out, c.want) {
			t.Errorf("weir quota %s: %v\n%swant %s", c.args, err, out, c.want)
		}
	}
}
