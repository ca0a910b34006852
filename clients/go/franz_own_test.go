package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// franzTests are those of franz-go's package kgo that reach for a broker. Left out are those of share groups, of groups by KIP-848 and of
// OAUTHBEARER.
const franzTests = "^Test(GroupETL|TxnEtl|GroupSimple|ConsumeRegex|ConsumeTopicRetrieval.*|ConsumeMaxDecompressBatchBytes|AddRemovePartitions|" +
	"DirectPartitionPurge|HookPollStart|Issue.*|PauseIssue.*|Pooling|Ping|SCRAMAuth.*|UnknownGroupOffsetFetchPinned|Client_Produce.*)$"

// TestFranzGoOwnTests runs tests of franz-go itself, from the module cache. Two of them log in; the rest can only do without.
func TestFranzGoOwnTests(t *testing.T) {
	needNode(t)
	if testing.Short() {
		t.Skip("takes minutes")
	}
	binary := filepath.Join(t.TempDir(), "kgo.test")
	if out, err := exec.Command(program(t, "go"), "test", "-c", "-o", binary, "github.com/twmb/franz-go/pkg/kgo").CombinedOutput(); err != nil {
		t.Fatalf("build franz-go's tests: %v\n%s", err, out)
	}
	n := startOpen(t)
	for _, w := range []struct {
		name, tests, records string
		env                  []string
	}{
		{"plaintext", franzTests, "20000", []string{"KGO_SEEDS=" + n.plaintext, "KGO_TEST_SCRAM_SEEDS=" + n.saslPlaintext, "KGO_TEST_SCRAM=" + userName + ":" + password}},
		{"ssl", "^Test(GroupETL|TxnEtl|ConsumeRegex)$", "5000", []string{"KGO_SEEDS=" + n.ssl, "KGO_TEST_TLS=ca:" + n.cert + ",cert:" + n.cert + ",key:" + n.key}},
	} {
		t.Run(w.name, func(t *testing.T) {
			cmd := exec.CommandContext(timeout(t, 10*time.Minute), binary, "-test.v", "-test.timeout=10m", "-test.run="+w.tests)
			cmd.Env = append(append(os.Environ(), "KGO_TEST_RF=1", "KGO_TEST_RECORDS="+w.records, "KGO_LOG_LEVEL=none"), w.env...)
			out, err := cmd.CombinedOutput()
			results := regexp.MustCompile(`(?m)^--- (PASS|SKIP|FAIL): .*$`).FindAllString(string(out), -1)
			for _, line := range results {
				t.Log(line)
			}
			if err != nil || len(results) == 0 {
				t.Errorf("%v\n%s", err, out[max(len(out)-4000, 0):])
			}
		})
	}
}
