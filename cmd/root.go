package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command could not do what was asked
	exitUsage  = 2 // the command line, the environment or the configuration file is wrong; of verify and dump: it could not be looked at
)

// usageError marks an error of the command line, the environment or the configuration file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the command that the arguments name and returns the process's exit code. The first SIGINT or SIGTERM ends the command's
// context, so that a node stops cleanly; the second one kills the process.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := New()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	err = explain(err)
	fmt.Fprintln(os.Stderr, "weir:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	if unseen := (couldNotLook{}); errors.As(err, &unseen) {
		return exitUsage
	}
	return exitFailed
}

// explain marks cobra's error about an unknown command, which has no type of its own, as one of the command line.
func explain(err error) error {
	if !strings.HasPrefix(err.Error(), "unknown command ") {
		return err
	}
	return usagef("%w; see weir --help", err)
}

// New builds the command tree.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "Web analytics on a log that speaks Kafka, in one binary",
		Long: `weir takes page views and short-link clicks in, keeps them in a replicated, Kafka-compatible log, counts them as they
arrive and shows the counts on a dashboard.

Start with "weir serve": it prints the address of the dashboard and a link that sets up the first account.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: applySettings,
		Version:           Version().String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w (%s --help shows the flags)", err, c.CommandPath())
	})
	root.PersistentFlags().String("config", "", "read settings from this TOML file: one line per flag, such as http = \":8080\"")
	root.AddGroup(
		&cobra.Group{ID: "node", Title: "Run a node:"},
		&cobra.Group{ID: "admin", Title: "Sites, people and counts of a running node:"},
		&cobra.Group{ID: "files", Title: "Look into the files of a node:"},
		&cobra.Group{ID: "kafka", Title: "Look into the log of a running node, or any Kafka cluster:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("node", serveCommand(), demoCommand(), benchCommand(), versionCommand())
	add("admin", siteCommand(), linksCommand(), diagnoseCommand(), userCommand(), tokenCommand(), importCommand(), statsCommand(), auditCommand(), receivedCommand(), clusterCommand())
	add("files", verifyCommand(), dumpCommand())
	add("kafka", topicsCommand(), groupsCommand(), produceCommand(), consumeCommand(), kafkaCommand(), aclCommand(), quotaCommand())
	return root
}

// exactly is cobra.ExactArgs with an error that says what to write.
func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("got %d arguments, want: %s", len(args), c.UseLine())
		}
		return nil
	}
}

// completeWords lets the shell complete the words that a flag may be.
func completeWords(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("BUG: " + err.Error())
	}
}

// group makes a command that only has subcommands. A word that is none of them is an error, not a help page.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("%q is no command of %s; see %s --help", args[0], c.CommandPath(), c.CommandPath())
		}
		return c.Help()
	}}
	c.AddCommand(commands...)
	return c
}
