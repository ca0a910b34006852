package cmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/internal/tail"
)

const (
	lookEvery   = time.Second
	reportEvery = time.Minute
	retryMost   = 30 * time.Second
)

// following sends what comes into some log files until it is stopped.
type following struct {
	api      *api
	options  importOptions
	stateDir string
	out, err io.Writer
	asJSON   bool
	files    []*followed
}

// followed is one of the files.
type followed struct {
	*tail.Follower
	state  string // file with its places
	failed error  // of the last look
	fails  int
	again  time.Time // when to look next
	sums   importLine
	said   time.Time
}

// followState is what a state file holds.
type followState struct {
	Version int          `json:"version"`
	File    string       `json:"file"`
	Site    string       `json:"site"`
	Places  []tail.Place `json:"places"`
}

const followVersion = 1

// defaultStateDir is where places are kept unless --state says another directory.
func defaultStateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "weir"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("--state: name a directory to keep in how far the files are sent (%w)", err)
	}
	return filepath.Join(home, ".local", "state", "weir"), nil
}

func (f *following) run(c *cobra.Command, names []string) error {
	if err := f.open(names); err != nil {
		return err
	}
	ctx := c.Context()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		for _, file := range f.files {
			if err := f.look(ctx, file, time.Now()); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			for _, file := range f.files {
				f.report(file, time.Now())
			}
			return nil
		case <-tick.C:
		}
	}
}

// open reads the places.
func (f *following) open(names []string) (err error) {
	if f.stateDir == "" {
		if f.stateDir, err = defaultStateDir(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(f.stateDir, 0o700); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	for _, name := range names {
		if name == "-" {
			return usagef("--follow needs files: what comes on standard input is imported as it comes, without it")
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(f.api.where + "\x00" + f.options.site + "\x00" + path))
		file := &followed{state: filepath.Join(f.stateDir, "import-"+hex.EncodeToString(sum[:8])+".json"), said: time.Now()}
		places, err := readPlaces(file.state)
		if err != nil {
			return err
		}
		file.Follower = tail.New(path, places)
		f.files = append(f.files, file)
	}
	return nil
}

func readPlaces(name string) ([]tail.Place, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s followState
	if err := json.Unmarshal(data, &s); err != nil || s.Version != followVersion {
		return nil, fmt.Errorf("%s cannot be read (version %d): delete it; the files are sent from their first lines then, and no line is counted twice", name, s.Version)
	}
	return s.Places, nil
}

// save keeps the places of a file: first under another name, so that a crash leaves the old ones or these.
func (f *following) save(file *followed) error {
	data, err := json.Marshal(followState{followVersion, file.Path(), f.options.site, file.Places()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file.state+".new", data, 0o600); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	if err := os.Rename(file.state+".new", file.state); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	return nil
}

// look sends what has come into a file. An error ends the following; what may pass is tried again later.
func (f *following) look(ctx context.Context, file *followed, now time.Time) error {
	if now.Before(file.again) || ctx.Err() != nil {
		return nil
	}
	name := printable(file.Path())
	some, err := file.Look(now, func(_ string, piece []byte, token string) (string, error) {
		return f.send(ctx, file, piece, token)
	}, func(rotated string) error {
		line, raw, err := importFile(ctx, f.api, f.options, rotated, nil, io.Discard)
		if err == nil {
			f.took(file, line, raw)
			fmt.Fprintf(f.err, "%s was rotated: %s: %d hits, %d imported before, %d refused\n", name, printable(rotated), line.Accepted, line.Before, line.Rejected)
		}
		return err
	})
	if some || err == nil && file.failed != nil {
		if err := f.save(file); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		if file.fails > 0 {
			fmt.Fprintf(f.err, "%s: goes on\n", name)
		}
		file.failed, file.fails = nil, 0
	case !passes(err):
		return fmt.Errorf("import %s: %w", file.Path(), err)
	default:
		if file.fails == 0 {
			fmt.Fprintf(f.err, "%s: %v; it is tried again\n", name, err)
		}
		file.fails++
		file.failed, file.again = err, now.Add(min(retryMost, lookEvery<<min(file.fails, 6)))
	}
	if now.Sub(file.said) >= reportEvery {
		f.report(file, now)
	}
	return nil
}

// passes reports whether an error may pass by itself: all but what the node says is wrong with the request.
func passes(err error) bool {
	var answer *apiError
	if !errors.As(err, &answer) || answer.Status == 0 {
		return true
	}
	return answer.Status >= 500 || answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusRequestTimeout
}

// send sends one piece and returns the token for the next.
func (f *following) send(ctx context.Context, file *followed, piece []byte, token string) (string, error) {
	q := f.options.query(filepath.Base(file.Path()))
	if token != "" {
		q.Set("from", token)
	}
	res, err := f.api.send(ctx, http.MethodPost, sitePath(f.options.site)+"/import?"+q.Encode(), http.Header{"Content-Type": {"text/plain"}}, bytes.NewReader(piece))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	line, raw, err := readImport(res.Body, func(importLine) {})
	if err != nil {
		return "", err
	}
	f.took(file, line, raw)
	return line.Next, nil
}

// took adds an answer up.
func (f *following) took(file *followed, line importLine, raw []byte) {
	if f.asJSON {
		fmt.Fprintf(f.out, "%s\n", raw)
	}
	s := &file.sums
	s.Lines, s.Accepted, s.Before, s.Rejected = s.Lines+line.Lines, s.Accepted+line.Accepted, s.Before+line.Before, s.Rejected+line.Rejected
	s.Humans, s.Bots = s.Humans+line.Humans, s.Bots+line.Bots
	for reason, n := range line.Reasons {
		if s.Reasons == nil {
			s.Reasons = map[string]int64{}
		}
		s.Reasons[reason] += n
	}
	if room := 3 - len(s.Examples); room > 0 {
		s.Examples = append(s.Examples, line.Examples[:min(room, len(line.Examples))]...)
	}
}

// report says what came since the last report.
func (f *following) report(file *followed, now time.Time) {
	if file.sums.Lines > 0 && !f.asJSON {
		file.sums.print(f.out, file.Path())
	}
	file.sums, file.said = importLine{}, now
}

// query returns the parameters of a request.
func (o importOptions) query(file string) url.Values {
	q := url.Values{"file": {file}}
	if o.zone != "" {
		q.Set("zone", o.zone)
	}
	return q
}
