package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// kcatRun runs kcat against the node and returns its output.
func kcatRun(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, "kcat"), append([]string{"-b", node.seed}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

// kcat speaks text, so that it has cases of its own.
func TestKcat(t *testing.T) {
	needNode(t)
	program(t, "kcat")
	must := func(t *testing.T, stdin string, args ...string) string {
		t.Helper()
		out, err := kcatRun(t, stdin, args...)
		if err != nil {
			t.Fatalf("kcat %v: %v", args, err)
		}
		return out
	}
	topicOf := func(t *testing.T, configs ...string) string {
		topic := fmt.Sprintf("kcat.%d", rand.Uint32())
		createTopic(t, topic, 1, configs...)
		return topic
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run("codec-"+codec, func(t *testing.T) {
			topic := topicOf(t)
			var in strings.Builder
			for i := range 500 {
				fmt.Fprintf(&in, "value number %d\n", i)
			}
			must(t, in.String(), "-P", "-t", topic, "-z", codec)
			if got := must(t, "", "-C", "-t", topic, "-e", "-q"); got != in.String() {
				t.Errorf("read %d bytes, want the %d produced", len(got), in.Len())
			}
			if used := codecOf(t, topic); used != codec {
				t.Errorf("stored with codec %s, want %s", used, codec)
			}
		})
	}
	t.Run("nulls-and-headers", func(t *testing.T) {
		topic := topicOf(t)
		must(t, "k:v\nk:\n:v\n", "-P", "-t", topic, "-K", ":", "-Z", "-H", "a=1", "-H", "b=2")
		var got []string
		for line := range strings.Lines(must(t, "", "-C", "-t", topic, "-e", "-q", "-J")) {
			var doc struct {
				Offset  int64
				Key     any
				Payload any
				Headers []string
			}
			if err := json.Unmarshal([]byte(line), &doc); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %v %v %v", doc.Offset, doc.Key, doc.Payload, doc.Headers))
		}
		want := []string{"0 k v [a 1 b 2]", "1 k <nil> [a 1 b 2]", "2 <nil> v [a 1 b 2]"}
		if !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
	})
	t.Run("10MiB", func(t *testing.T) {
		topic := topicOf(t, "max.message.bytes", fmt.Sprint(limit))
		big := strings.Repeat("x", maxRecord)
		must(t, big, "-P", "-t", topic, "-X", fmt.Sprintf("message.max.bytes=%d", limit))
		if got := must(t, "", "-C", "-t", topic, "-e", "-q", "-D", "", "-X", fmt.Sprintf("fetch.message.max.bytes=%d", limit)); got != big {
			t.Errorf("read %d bytes, want %d", len(got), len(big))
		}
	})
	t.Run("rewind", func(t *testing.T) {
		topic := topicOf(t)
		must(t, "0\n1\n2\n3\n", "-P", "-t", topic)
		middle := time.Now().Add(time.Millisecond)
		for time.Now().Before(middle.Add(5 * time.Millisecond)) {
			time.Sleep(time.Millisecond)
		}
		must(t, "4\n5\n", "-P", "-t", topic)
		if got := must(t, "", "-C", "-t", topic, "-o", "2", "-e", "-q"); got != "2\n3\n4\n5\n" {
			t.Errorf("from offset 2: %q", got)
		}
		if got := must(t, "", "-C", "-t", topic, "-o", "-1", "-e", "-q"); got != "5\n" {
			t.Errorf("the last one: %q", got)
		}
		if got := must(t, "", "-C", "-t", topic, "-o", fmt.Sprintf("s@%d", middle.UnixMilli()), "-e", "-q"); got != "4\n5\n" {
			t.Errorf("by time: %q", got)
		}
		if got := must(t, "", "-Q", "-t", fmt.Sprintf("%s:0:%d", topic, middle.UnixMilli())); !strings.Contains(got, "offset 4") {
			t.Errorf("kcat -Q: %q", got)
		}
	})
	t.Run("idempotent", func(t *testing.T) {
		topic := topicOf(t)
		must(t, "a\nb\n", "-P", "-t", topic, "-X", "enable.idempotence=true")
		if got := must(t, "", "-C", "-t", topic, "-e", "-q"); got != "a\nb\n" {
			t.Errorf("read %q", got)
		}
	})
	t.Run("group", func(t *testing.T) {
		topic := topicOf(t)
		group := func() string {
			return must(t, "", "-G", "g."+topic, "-e", "-q", "-X", "auto.offset.reset=earliest", topic)
		}
		must(t, "a\nb\n", "-P", "-t", topic)
		if got := group(); got != "a\nb\n" {
			t.Errorf("the group read %q", got)
		}
		must(t, "c\n", "-P", "-t", topic)
		if got := group(); got != "c\n" {
			t.Errorf("the group went on with %q", got)
		}
	})
	t.Run("transaction", func(t *testing.T) {
		topic := topicOf(t)
		must(t, "a\nb\n", "-P", "-t", topic, "-X", "transactional.id=txn-"+topic)
		if got := must(t, "", "-C", "-t", topic, "-e", "-q", "-X", "isolation.level=read_committed"); got != "a\nb\n" {
			t.Errorf("read %q", got)
		}
	})
}
