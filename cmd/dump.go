package cmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/cmd/dump"
	"github.com/weir-analytics/weir/internal/vfs"
)

func dumpCommand() *cobra.Command {
	var asJSON bool
	p := &dump.Printer{FS: vfs.ReadOnly{}, Settle: func() { time.Sleep(20 * time.Millisecond) }}
	c := &cobra.Command{
		Use: "dump FILE...", Short: "Print what the files of a node hold, damaged ones too",
		Long: `Print what files of a node hold: segments (.log), the files beside them (.rix, .rix.data, .timeindex, .txnindex, meta, ckpt-N, anchor-N)
and votes (hardstate.wal). Of a partition's directory the segments are printed in order. Nothing is written or locked, so the node may run.

Of a segment each batch is a line, or with --records each record: hits, deltas, cells, committed offsets and transactions decoded where the
topic is known by its topic.json or named by --as, other keys and values as text or hex. Damaged bytes are a line that says where and why, and
reading goes on at the next sound batch.

The exit code is 0 when all is sound, 1 when damage was seen, and 2 when a file could not be read or is of no kind known.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("got no files, want: %s", c.UseLine())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case p.As != "" && !slices.Contains(dump.Formats, p.As):
				return usagef("--as %s: want one of %s", p.As, strings.Join(dump.Formats, ", "))
			case p.From < 0:
				return usagef("--from %d: offsets begin at 0", p.From)
			}
			out := bufio.NewWriter(c.OutOrStdout())
			p.Emit = func(l dump.Line) error {
				text := []byte(printable(l.String()))
				if asJSON {
					var err error
					if text, err = json.Marshal(l); err != nil {
						return err
					}
				}
				_, err := fmt.Fprintf(out, "%s\n", text)
				return err
			}
			var errs []error
			for _, name := range args {
				errs = append(errs, p.File(name))
			}
			err := errors.Join(errs...)
			if flushed := out.Flush(); flushed != nil {
				err = errors.Join(err, flushed)
			}
			switch {
			case p.Damage > 0:
				return errors.Join(err, errDamaged)
			case err != nil:
				return couldNotLook{err}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document a line")
	c.Flags().BoolVar(&p.Records, "records", false, "print each record instead of each batch")
	c.Flags().StringVar(&p.As, "as", "", "what the records are: "+strings.Join(dump.Formats, ", ")+" (default: by the topic)")
	c.Flags().Int64Var(&p.From, "from", 0, "first `offset` to print")
	c.Flags().Int64Var(&p.To, "to", -1, "`offset` after the last one to print (default: the end)")
	completeWords(c, "as", dump.Formats...)
	return c
}
