package broker

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// kcat runs kcat against b with what to produce on its standard input, and returns its standard output.
func kcat(t *testing.T, b *Broker, stdin string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	if err != nil {
		t.Skip("kcat is not installed (Debian package kcat)")
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(within(t), path, append([]string{"-b", b.Addr().String()}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("kcat %v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

func TestKcatProducesConsumesAndQueries(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	if list := kcat(t, b, "", "-L"); !strings.Contains(list, `topic "t" with 1 partitions`) || !strings.Contains(list, "leader 1, replicas: 1, isrs: 1") {
		t.Errorf("-L:\n%s", list)
	}
	want := ""
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		lines := strings.Repeat(codec+":"+strings.Repeat(codec, 20)+"\n", 5)
		kcat(t, b, lines, "-P", "-t", "t", "-K", ":", "-z", codec)
		want += lines
	}
	kcat(t, b, "idempotent\n", "-P", "-t", "t", "-X", "enable.idempotence=true")
	want += ":idempotent\n"
	if got := kcat(t, b, "", "-C", "-t", "t", "-e", "-q", "-K", ":", "-o", "beginning"); got != want {
		t.Errorf("-C:\n%s\nwant\n%s", got, want)
	}
	if got := kcat(t, b, "", "-C", "-t", "t", "-e", "-q", "-o", "-1", "-f", "%o %s\n"); got != "25 idempotent\n" {
		t.Errorf("-o -1: %q", got)
	}
	if got := kcat(t, b, "", "-Q", "-t", "t:0:-1", "-t", "t:0:-2"); !strings.Contains(got, "t [0] offset 26") && !strings.Contains(got, "t [0] offset 0") {
		t.Errorf("-Q: %q", got)
	}
}

func TestKcatGroupResumesWhereItCommitted(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	kcat(t, b, "a\nb\n", "-P", "-t", "t", "-p", "0")
	args := []string{"-q", "-e", "-X", "auto.offset.reset=earliest", "-G", "g", "t"}
	if got := kcat(t, b, "", args...); got != "a\nb\n" {
		t.Errorf("first run: %q", got)
	}
	kcat(t, b, "c\n", "-P", "-t", "t", "-p", "0")
	if got := kcat(t, b, "", args...); got != "c\n" {
		t.Errorf("second run: %q", got)
	}
}

func TestKcatAcksZero(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	kcat(t, b, "a\nb\n", "-P", "-t", "t", "-X", "acks=0")
	if got := kcat(t, b, "", "-C", "-t", "t", "-e", "-q"); got != "a\nb\n" {
		t.Errorf("%q", got)
	}
}
