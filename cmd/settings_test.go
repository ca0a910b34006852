package cmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/cmd/node"
)

// probe is a command tree with one command whose flags show what they were set to.
func probe(t *testing.T, args ...string) (http, kafka string, err error) {
	t.Helper()
	root := &cobra.Command{Use: "weir", SilenceErrors: true, SilenceUsage: true, PersistentPreRunE: applySettings}
	root.PersistentFlags().String("config", "", "")
	c := &cobra.Command{Use: "serve", RunE: func(*cobra.Command, []string) error { return nil }}
	c.Flags().StringVar(&http, "http", "default", "")
	c.Flags().StringVar(&kafka, "kafka-advertise", "default", "")
	root.AddCommand(c)
	root.SetArgs(append([]string{"serve"}, args...))
	err = root.Execute()
	return http, kafka, err
}

func TestFlagsGoBeforeEnvironmentBeforeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(file, []byte("http = \"file\"\nkafka-advertise = \"file\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	http, kafka, err := probe(t)
	if err != nil || http != "default" || kafka != "default" {
		t.Errorf("nothing set: %s, %s, %v", http, kafka, err)
	}
	if http, kafka, err = probe(t, "--config", file); err != nil || http != "file" || kafka != "file" {
		t.Errorf("file: %s, %s, %v", http, kafka, err)
	}
	t.Setenv("WEIR_CONFIG", file)
	t.Setenv("WEIR_KAFKA_ADVERTISE", "env")
	if http, kafka, err = probe(t); err != nil || http != "file" || kafka != "env" {
		t.Errorf("file and environment: %s, %s, %v", http, kafka, err)
	}
	if http, kafka, err = probe(t, "--kafka-advertise", "flag"); err != nil || http != "file" || kafka != "flag" {
		t.Errorf("all three: %s, %s, %v", http, kafka, err)
	}
}

func TestWrongSettingsNameTheirSource(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"no such key", "htpt = \":80\"", `"htpt" is no setting`},
		{"no TOML", "http = = 1", "--config"},
		{"a table", "[http]\nport = 1", "http: a map"},
	} {
		file := filepath.Join(t.TempDir(), "weir.toml")
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := probe(t, "--config", file)
		if usage := (usageError{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a usage error with %q", c.name, err, c.want)
		}
	}
	if _, _, err := probe(t, "--config", "/no/such/file"); err == nil {
		t.Error("a missing file was taken")
	}
}

func TestEveryFlagOfServeIsNamedInItsHelp(t *testing.T) {
	root := New()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs([]string{"serve", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	serve, _, _ := root.Find([]string{"serve"})
	for _, room := range []string{"Node:", "Web", "Ingest:", "Log"} {
		if !strings.Contains(out.String(), "\n"+room) {
			t.Errorf("help has no part %q", room)
		}
	}
	for name := range allFlags(serve) {
		if name != "help" && !strings.Contains(out.String(), "--"+name+" ") && !strings.Contains(out.String(), "--"+name+"[") {
			t.Errorf("help does not show --%s", name)
		}
	}
}

func TestDataDirectoriesComeFromFlagsEnvironmentAndFile(t *testing.T) {
	dirs := func(args ...string) string {
		t.Helper()
		cfg, logs := node.Default(), logFlags{}
		root := &cobra.Command{Use: "weir", SilenceErrors: true, SilenceUsage: true, PersistentPreRunE: applySettings}
		c := &cobra.Command{Use: "serve", RunE: func(*cobra.Command, []string) error { return nil }}
		nodeFlags(c, &cfg, &logs)
		root.AddCommand(c)
		root.SetArgs(append([]string{"serve"}, args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(cfg.DataDirs, " ")
	}
	file := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(file, []byte(`data = ["/c", "/d"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := dirs(); got != "data" {
		t.Errorf("nothing set: %s", got)
	}
	if got := dirs("--config", file); got != "/c /d" {
		t.Errorf("file: %s", got)
	}
	if got := dirs("--data", "/a", "--data", "/b", "--data", `"/with,comma"`); got != "/a /b /with,comma" {
		t.Errorf("flags: %s", got)
	}
	t.Setenv("WEIR_DATA", "/e,/f")
	if got := dirs("--config", file); got != "/e /f" {
		t.Errorf("environment: %s", got)
	}
}
