package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/internal/boltfile"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	counts "github.com/weir-analytics/weir/rollup/table"
)

func verifyCommand() *cobra.Command {
	v := &verification{}
	var data []string
	c := &cobra.Command{
		Use: "verify [DIRECTORY...]", Short: "Read everything in the data directories of a node through and say what is damaged",
		Long: `Read everything in the data directories of a node through: checksums of all record batches, side indexes against the log, offsets, terms, producers and
open transactions in checkpoints against a replay of the log, the index of aborted transactions, votes, the controller's store and the table
of counts. Nothing is written. Each finding is one line: which file, at which byte, and what to do.

Of a node with several directories name the first, which has identity.json; the others are found through it, unless they lie elsewhere than at
the last start and are named too.

The node should be stopped. Of a running one the partitions are read, and what is told was found in each of three looks; the controller's
store, the sessions and the table of counts are locked by the node and left out.

The exit code is 0 when everything is whole, 1 when something is damaged, and 2 when something could not be looked at.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				data = args
			}
			if len(data) == 0 {
				return usagef("--data: it is empty, want a directory")
			}
			v.out, v.errOut = c.OutOrStdout(), c.ErrOrStderr()
			return v.run(data[0], data[1:])
		},
	}
	c.Flags().StringSliceVar(&data, "data", []string{defaultData}, "data `directory` to verify, the first one if the node has several")
	c.Flags().BoolVar(&v.json, "json", false, "print findings and the summary as JSON, one document a line")
	c.Flags().BoolVar(&v.quiet, "quiet", false, "print no progress")
	return c
}

// couldNotLook marks an error after which nothing can be said of a part.
type couldNotLook struct{ error }

func (e couldNotLook) Unwrap() error { return e.error }

// errDamaged is returned by commands that have found damaged files, after they have told of it.
var errDamaged = errors.New("damage was found")

// verification is one run of weir verify.
type verification struct {
	json, quiet bool
	out, errOut io.Writer

	sum    verified
	shown  time.Time // of the last line of progress
	read   int64
	owner  string // server id of the node, when known
	topics map[string]state.Topic
	unseen []error
	// partial says that a data directory of the node was left out.
	partial bool
}

// verified is the last line of weir verify.
type verified struct {
	Data       string   `json:"data"`
	More       []string `json:"more_data,omitempty"` // further directories that were read
	Running    bool     `json:"running"`
	Partitions int      `json:"partitions"`
	Bytes      int64    `json:"bytes"` // of records
	Damage     int      `json:"damage"`
	Notes      int      `json:"notes"`
	NotLooked  []string `json:"not_looked_at,omitempty"`
}

func (v *verification) run(data string, more []string) error {
	v.sum.Data = data
	if _, err := os.Stat(filepath.Join(data, broker.MarkerFile)); err == nil {
		return couldNotLook{fmt.Errorf("%s is a further directory of a node; name the one with identity.json first", data)}
	}
	if _, err := os.Stat(filepath.Join(data, "identity.json")); err != nil {
		if _, topics := os.Stat(filepath.Join(data, "topics")); topics != nil {
			return couldNotLook{fmt.Errorf("%s is no data directory of weir: it has no identity.json; name another one", data)}
		}
		v.found(finding.Finding{File: filepath.Join(data, "identity.json"), Offset: -1, What: "it can't be read: " + err.Error(), Do: finding.Restore})
	}
	release, running, err := holdDir(data)
	if err != nil {
		return couldNotLook{err}
	}
	defer release()
	v.sum.Running = running
	if !running {
		v.closedFiles(data)
	}
	dirs, release := v.directories(data, more)
	defer release()
	v.partitions(dirs)
	if v.sum.Running {
		v.found(finding.Finding{Note: true, File: data, Offset: -1, What: "a node is running here: the controller's store, sessions and the table of counts were left out", Do: "stop it to have them looked at"})
	}
	return v.finish()
}

// holdDir keeps a node from starting while its files are read. running says that one has the directory already.
func holdDir(data string) (release func(), running bool, err error) {
	f, err := os.Open(filepath.Join(data, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return func() { f.Close() }, true, nil
	case err != nil:
		f.Close()
		return nil, false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, false, nil
}

// closedFiles looks at what only one process can have open.
func (v *verification) closedFiles(data string) {
	agreed, owner, err := raftfsm.Inspect(data, v.found)
	v.owner = owner
	switch {
	case err == nil:
		v.topics = agreed.Topics
	case !errors.Is(err, fs.ErrNotExist):
		v.notLooked(err)
	}
	sessions := filepath.Join(data, "web", "sessions.db")
	switch err := boltfile.Check(sessions); {
	case errors.Is(err, boltfile.ErrDamaged):
		v.found(finding.Finding{File: sessions, Offset: -1, What: err.Error(), Do: "restart the node, which puts the file aside; people log in again"})
	case err != nil:
		v.notLooked(err)
	}
	dir := filepath.Join(data, "rollup", "table")
	if _, err := os.Stat(dir); err == nil {
		if _, err := counts.Inspect(dir, v.found); err != nil {
			v.notLooked(err)
		}
	}
}

// directories lists those with partitions, each held as the first one is.
func (v *verification) directories(data string, more []string) (dirs []string, release func()) {
	all, err := broker.FindDirs(data, more, v.owner, v.found)
	if err != nil {
		v.notLooked(err)
	}
	v.partial = err != nil
	dirs = []string{data}
	var held []func()
	for _, dir := range all[1:] {
		free, running, err := holdDir(dir)
		if err == nil && running && !v.sum.Running {
			free()
			err = fmt.Errorf("data directory %s: another process uses it, and not %s: stop that one", dir, data)
		}
		if err != nil {
			v.notLooked(err)
			v.partial = true
			continue
		}
		held, dirs = append(held, free), append(dirs, dir)
	}
	v.sum.More = dirs[1:]
	return dirs, func() {
		for _, free := range held {
			free()
		}
	}
}

func (v *verification) partitions(dirs []string) {
	v.shown = time.Now()
	at, total := 0, 0
	show := func() {
		if !v.quiet && !v.json && time.Since(v.shown) >= 2*time.Second {
			v.shown = time.Now()
			fmt.Fprintf(v.errOut, "partition %d of %d, %d MiB read\n", at+1, total, v.read>>20)
		}
	}
	var err error
	v.sum.Partitions, v.sum.Bytes, err = broker.Inspect(broker.Inspection{
		Dirs: dirs, Partial: v.partial, Live: v.sum.Running, Topics: v.topics, Found: v.found,
		Begin:    func(done, of int) { at, total = done, of; show() },
		Progress: func(n int64) { v.read += n; show() },
	})
	if err != nil {
		v.notLooked(err)
	}
}

func (v *verification) found(f finding.Finding) {
	if f.Note {
		v.sum.Notes++
	} else {
		v.sum.Damage++
	}
	if !v.json {
		fmt.Fprintln(v.out, f)
		return
	}
	v.line(f)
}

func (v *verification) line(doc any) {
	b, err := json.Marshal(doc)
	if err != nil {
		panic("BUG: a finding can't be written as JSON: " + err.Error())
	}
	fmt.Fprintf(v.out, "%s\n", b)
}

func (v *verification) notLooked(err error) {
	v.unseen = append(v.unseen, err)
	v.sum.NotLooked = append(v.sum.NotLooked, err.Error())
}

func (v *verification) finish() error {
	if v.json {
		v.line(v.sum)
	} else {
		word := "everything is whole"
		switch {
		case v.sum.Damage > 0:
			word = fmt.Sprintf("%d findings of damage", v.sum.Damage)
		case len(v.unseen) > 0:
			word = "not everything could be looked at"
		}
		fmt.Fprintf(v.out, "%s: %d partitions, %d bytes of records: %s\n", strings.Join(append([]string{v.sum.Data}, v.sum.More...), ", "), v.sum.Partitions, v.sum.Bytes, word)
	}
	if v.sum.Damage > 0 {
		return errors.Join(append(v.unseen, errDamaged)...)
	}
	if len(v.unseen) > 0 {
		return couldNotLook{errors.Join(v.unseen...)}
	}
	return nil
}
