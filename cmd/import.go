package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// importLine is one line of the answer to an import: progress, or with Done or Error the last one.
type importLine struct {
	Done     bool             `json:"done,omitempty"`
	Error    *apiError        `json:"error,omitempty"`
	Lines    int64            `json:"lines"`
	Accepted int64            `json:"accepted"`
	Before   int64            `json:"before"`
	Rejected int64            `json:"rejected"`
	Humans   int64            `json:"humans"`
	Bots     int64            `json:"bots"`
	First    time.Time        `json:"first,omitzero"`
	Last     time.Time        `json:"last,omitzero"`
	Formats  map[string]int64 `json:"formats,omitempty"`
	Reasons  map[string]int64 `json:"reasons,omitempty"`
	Examples []struct {
		Line  int64  `json:"line"`
		Error string `json:"error"`
	} `json:"examples,omitempty"`
	Next string `json:"next,omitempty"`
}

// importOptions are the same for all files of a command.
type importOptions struct {
	site  string
	zone  string // "" is UTC
	wait  bool
	check bool
}

func importCommand() *cobra.Command {
	var o importOptions
	var noWait, asJSON, follow bool
	var stateDir string
	c := &cobra.Command{
		Use: "import --site NAME FILE...", Short: "Import access logs, and exports of other analytics tools",
		Long: `Import access logs: of Apache, nginx, Caddy, Traefik, HAProxy, Envoy, IIS, Amazon's balancers, S3 and CloudFront, Cloudflare, and what
writes like them. The format is found line by line. Files may be plain, gzip, bzip2 or zstd; "-" is standard input.
Exports that hold every hit are imported too: GoatCounter's CSV, Umami's table website_event as CSV, and Google Analytics 4's export to BigQuery
as newline-delimited JSON; each file of a zip is looked at. Exports of sums by day, such as Plausible's, hold no hits and are refused.
Each line counts in the minute, hour and day of its own time. Lines that are refused are reported by reason with an example's line number.
Sending the same file again, or a longer version of it, counts nothing twice: what was imported before is left out, and said.

The command returns when everything is counted, so that "weir stats" shows it. With --check nothing is imported, and it says what would be.
With --follow it goes on with what comes into the files, until it is stopped. Files may be rotated meanwhile, by a new name or in place, and
while it is stopped; it keeps in --state how far it is. If that is lost, the files are read from their first lines, and nothing is counted twice.`,
		Example: `  weir import --site shop.example.com /var/log/nginx/access.log*
  weir import --site shop.example.com --check old.log.gz
  weir import --site shop.example.com --follow /var/log/nginx/access.log`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("name at least one file, or - for standard input")
			}
			return nil
		},
	}
	r := reachFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.wait = !noWait
		if o.site == "" {
			return usagef("--site: say which site the log is of; \"weir site list\" shows them")
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		if follow {
			if o.check {
				return usagef("--check and --follow exclude each other")
			}
			f := following{api: a, options: o, stateDir: stateDir, out: c.OutOrStdout(), err: c.ErrOrStderr(), asJSON: asJSON}
			return f.run(c, args)
		}
		for _, name := range args {
			var understood, refused int64
			err := importNamed(c.Context(), a, o, name, c.InOrStdin(), c.ErrOrStderr(), func(file imported) error {
				if asJSON {
					fmt.Fprintf(c.OutOrStdout(), "%s\n", file.raw)
				} else {
					file.line.print(c.OutOrStdout(), file.name)
				}
				understood += file.line.Accepted + file.line.Before
				refused += file.line.Rejected
				return nil
			})
			if err != nil {
				return err
			}
			if o.check && !asJSON {
				fmt.Fprintln(c.OutOrStdout(), "  nothing was imported: leave --check away to do so")
			}
			if understood == 0 && refused > 0 {
				return fmt.Errorf("import %s: no line was understood", name)
			}
		}
		return nil
	}
	c.Flags().StringVar(&o.site, "site", "", "the site that the log is of (required)")
	c.Flags().BoolVar(&noWait, "no-wait", false, "return when everything is written, without waiting until it is counted")
	c.Flags().BoolVar(&o.check, "check", false, "import nothing, only say what would be counted")
	c.Flags().BoolVar(&follow, "follow", false, "go on with what comes into the files, through rotation, until stopped")
	c.Flags().StringVar(&stateDir, "state", "", "directory in which --follow keeps how far it is (default $XDG_STATE_HOME/weir or ~/.local/state/weir)")
	c.Flags().StringVar(&o.zone, "zone", "", "time zone of times whose zone the log does not tell, such as Europe/Berlin (default UTC)")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document for each file")
	return c
}

// importFile sends one file and returns the last line of the answer.
func importFile(ctx context.Context, a *api, o importOptions, name string, stdin io.Reader, progress io.Writer) (importLine, []byte, error) {
	in, size, err := openInput(name, stdin)
	if err != nil {
		return importLine{}, nil, err
	}
	return importStream(ctx, a, o, filepath.Base(name), in, size, progress)
}

// importStream sends what in holds and closes it. base is its name without folders, size its length in bytes, -1 when that is not known.
func importStream(ctx context.Context, a *api, o importOptions, base string, in io.ReadCloser, size int64, progress io.Writer) (importLine, []byte, error) {
	defer in.Close()
	body := &countingReader{r: bufio.NewReaderSize(in, 256<<10)}
	header := http.Header{"Content-Type": {"text/plain"}}
	if magic, _ := body.r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		header.Set("Content-Encoding", "gzip")
	}
	q := o.query(base)
	if o.wait {
		q.Set("wait", "1")
	}
	if o.check {
		q.Set("check", "1")
	}
	if err := a.await(ctx); err != nil {
		return importLine{}, nil, err
	}
	res, err := a.send(ctx, http.MethodPost, sitePath(o.site)+"/import?"+q.Encode(), header, body)
	if errors.Is(err, errWentAway) {
		err = fmt.Errorf("%w; send the file again: what was accepted is not counted twice", err)
	}
	if err != nil {
		return importLine{}, nil, err
	}
	defer res.Body.Close()
	m := newMeter(progress, size, &body.n)
	defer m.clear()
	return readImport(res.Body, m.show)
}

// readImport reads the answer line by line up to the last one.
func readImport(r io.Reader, show func(importLine)) (importLine, []byte, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line importLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return line, nil, fmt.Errorf("read the answer: %w", err)
		}
		switch {
		case line.Error != nil:
			return line, nil, fmt.Errorf("after %d lines (%d accepted): %w; send the file again: what was accepted is not counted twice", line.Lines, line.Accepted, line.Error)
		case line.Done:
			return line, bytes.Clone(lines.Bytes()), nil
		}
		show(line)
	}
	err := lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return importLine{}, nil, fmt.Errorf("the node went away before the end (%w); send the file again: what was accepted is not counted twice", err)
}

func (l importLine) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: %d lines: %d hits (%d human, %d bots)", printable(name), l.Lines, l.Accepted, l.Humans, l.Bots)
	if l.Before > 0 {
		fmt.Fprintf(w, ", %d imported before", l.Before)
	}
	fmt.Fprintf(w, ", %d refused\n", l.Rejected)
	if formats := slices.Sorted(maps.Keys(l.Formats)); len(formats) > 0 && !l.First.IsZero() {
		fmt.Fprintf(w, "  %s, from %s to %s\n", printable(strings.Join(formats, " and ")), l.First.Format(time.DateTime), l.Last.Format(time.DateTime+" MST"))
	}
	for _, reason := range slices.SortedFunc(maps.Keys(l.Reasons), func(a, b string) int { return int(l.Reasons[b] - l.Reasons[a]) }) {
		fmt.Fprintf(w, "  %6d  %s\n", l.Reasons[reason], printable(reason))
	}
	for _, e := range l.Examples {
		fmt.Fprintf(w, "  line %d: %s\n", e.Line, printable(e.Error))
	}
}

// openInput opens a file, or standard input for "-". The size is -1 when it is not known.
func openInput(name string, stdin io.Reader) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(stdin), -1, nil
	}
	f, err := os.Open(name)
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if info.IsDir() {
		f.Close()
		return nil, 0, errors.New("it is a directory, want a log file")
	}
	if !info.Mode().IsRegular() {
		return f, -1, nil
	}
	return f, info.Size(), nil
}

type countingReader struct {
	r *bufio.Reader
	n atomic.Int64 // bytes handed on
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// meter shows the progress on one line of a terminal, and nothing elsewhere.
type meter struct {
	w       io.Writer
	on      bool
	size    int64 // bytes, -1 when not known
	sent    *atomic.Int64
	started time.Time
}

func newMeter(w io.Writer, size int64, sent *atomic.Int64) *meter {
	return &meter{w: w, on: isTerminal(w), size: size, sent: sent, started: time.Now()}
}

// isTerminal reports whether somebody may be looking.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const clearLine = "\r\x1b[K"

func (m *meter) show(l importLine) {
	if m.on {
		fmt.Fprint(m.w, clearLine+progressText(l, m.sent.Load(), m.size, time.Since(m.started)))
	}
}

func (m *meter) clear() {
	if m.on {
		fmt.Fprint(m.w, clearLine)
	}
}

// progressText says how far an import is after took.
func progressText(l importLine, sent, size int64, took time.Duration) string {
	perSecond := float64(l.Lines) / max(took.Seconds(), 0.001)
	s := fmt.Sprintf("%d lines, %.0f a second", l.Lines, perSecond)
	if l.Rejected > 0 {
		s += fmt.Sprintf(", %d refused", l.Rejected)
	}
	switch {
	case size > 0 && sent >= size:
		s += ", all sent, waiting for the counts"
	case size > 0 && sent > 0:
		left := time.Duration(float64(took) * float64(size-sent) / float64(sent))
		s += fmt.Sprintf(", %d %%, %s left", 100*sent/size, left.Round(time.Second))
	}
	return s
}
