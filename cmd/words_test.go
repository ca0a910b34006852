package cmd

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// run runs the command line in this process and returns its error as Main would print it.
func run(t *testing.T, args ...string) error {
	t.Helper()
	root := New()
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	err := root.Execute()
	if err == nil {
		t.Fatalf("weir %v did not fail", args)
	}
	return explain(err)
}

func TestUnknownCommandIsAMistakeOfTheCommandLine(t *testing.T) {
	for _, args := range [][]string{{"frob"}, {"site", "frob"}} {
		err := run(t, args...)
		if usage := (usageError{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "frob") || !strings.Contains(err.Error(), "--help") {
			t.Errorf("weir %v: %v", args, err)
		}
	}
}

func TestNodeThatDoesNotListenSaysWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = run(t, "site", "list", "--url", "http://"+addr)
	for _, want := range []string{addr, "WEIR_URL"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

func TestShellCompletesFixedWords(t *testing.T) {
	for args, want := range map[string]string{
		"stats --by ": "country", "stats --every ": "minute", "user add --role ": "viewer", "token add --scope ": "ingest",
	} {
		root := New()
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(io.Discard)
		root.SetArgs(append([]string{"__complete"}, strings.Split(args, " ")...))
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("weir %s<TAB>: %v, %q does not offer %s", args, err, out.String(), want)
		}
	}
}
