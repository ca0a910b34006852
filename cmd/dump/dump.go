package dump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/internal/vfs"
)

// ErrKind is returned for a file that is of no kind known here.
var ErrKind = errors.New("not a kind of file that can be printed; there are .log, .rix, .rix.data, .timeindex, .txnindex, meta, ckpt-N, anchor-N, " +
	"hardstate.wal, and directories of partitions")

// maxFile is what files other than segments may have: they are read as a whole. The node's own limit for them.
const maxFile = 1 << 30

// Printer prints files. It is used by one goroutine at a time.
type Printer struct {
	FS      vfs.FS // only read
	Records bool   // each record instead of each batch
	As      string // one of Formats; "" goes by the topic.json above the file
	From    int64  // first offset
	To      int64  // offset after the last one; below 0: the end
	Emit    func(Line) error
	Settle  func() // waits before a batch that is not whole is read again; nil: it is read once

	// Damage is how many lines of damage there were.
	Damage int

	file string // being printed
}

func (p *Printer) end() int64 {
	if p.To < 0 {
		return math.MaxInt64
	}
	return p.To
}

// damage tells of a place that is not as a node writes it. note: an unclean stop, or a write under way, leaves the like.
func (p *Printer) damage(note bool, pos int64, what string) error {
	kind := "note"
	if !note {
		kind = "damage"
		p.Damage++
	}
	return p.Emit(line(kind, "file", p.file, "position", pos, "what", what))
}

// File prints one file, or the segments of a partition's directory in order. Errors are of reading, of Emit, or ErrKind.
func (p *Printer) File(name string) error {
	if names, err := p.FS.List(name); err == nil {
		return p.partition(name, names)
	}
	show, err := p.kind(name)
	if err != nil {
		return err
	}
	p.file = name
	if err := p.Emit(line("file", "name", name)); err != nil {
		return err
	}
	return show(name)
}

func (p *Printer) kind(name string) (func(string) error, error) {
	base := strings.TrimSuffix(filepath.Base(name), ".cleaned")
	switch {
	case strings.HasSuffix(base, ".log"):
		return p.segment, nil
	case strings.HasSuffix(base, ".rix"):
		return p.whole(p.index), nil
	case strings.HasSuffix(base, ".rix.data"):
		return p.whole(p.internal), nil
	case strings.HasSuffix(base, ".timeindex"):
		return p.whole(p.times), nil
	case strings.HasSuffix(base, ".txnindex"):
		return p.whole(p.aborted), nil
	case base == "meta":
		return p.whole(p.meta), nil
	case strings.HasPrefix(base, "ckpt-"), strings.HasPrefix(base, "anchor-"):
		return p.whole(p.saved), nil
	case base == "hardstate.wal":
		return p.votes, nil
	}
	return nil, fmt.Errorf("%s: %w", name, ErrKind)
}

// whole wraps what prints a file that is read at once.
func (p *Printer) whole(show func(name string, b []byte) error) func(string) error {
	return func(name string) error {
		b, err := vfs.ReadFile(p.FS, name, maxFile)
		if errors.Is(err, io.ErrShortBuffer) {
			return fmt.Errorf("%s is larger than %d bytes, which none of its kind is", name, maxFile)
		}
		if err != nil {
			return err
		}
		return show(name, b)
	}
}

// partition prints the segments of a directory that have offsets asked for.
func (p *Printer) partition(dir string, names []string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, ".log") || segmentBase(n) < 0 })
	if len(names) == 0 {
		return fmt.Errorf("%s has no segments: %w", dir, ErrKind)
	}
	slices.Sort(names)
	for i, name := range names {
		if segmentBase(name) >= p.end() || i+1 < len(names) && segmentBase(names[i+1]) <= p.From {
			continue
		}
		if err := p.File(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// segmentBase is the offset in the name of a segment's file, -1 when it has none.
func segmentBase(name string) int64 {
	digits, _, _ := strings.Cut(filepath.Base(name), ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// topic is the name in the topic.json one directory above that of the file, or beside it; "" when there is none.
func (p *Printer) topic(name string) string {
	dir := filepath.Dir(name)
	for _, at := range []string{dir, filepath.Dir(dir)} {
		b, err := vfs.ReadFile(p.FS, filepath.Join(at, "topic.json"), 1<<20)
		if err != nil {
			continue
		}
		var doc struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(b, &doc) == nil {
			return doc.Name
		}
	}
	return ""
}
