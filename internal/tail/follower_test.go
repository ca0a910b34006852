package tail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// world is a directory with a log that is followed. Its receiver knows lines again, as imports do.
type world struct {
	t     *testing.T
	dir   string
	clock time.Time
	f     *Follower
	got   map[string]int // handed out in pieces
	whole map[string]int // handed out as parts of whole files
	fail  error
	next  int
	wrote []string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), clock: time.Unix(1_800_000_000, 0), got: map[string]int{}, whole: map[string]int{}}
	w.f = New(w.log(), nil)
	t.Cleanup(func() { w.f.Close() })
	return w
}

func (w *world) log() string { return filepath.Join(w.dir, "access.log") }

// write appends lines to a file, with the clock as its time.
func (w *world) write(name string, n int) {
	w.t.Helper()
	out, err := os.OpenFile(filepath.Join(w.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	for range n {
		line := fmt.Sprintf("line %d of the log", w.next)
		w.next++
		w.wrote = append(w.wrote, line)
		fmt.Fprintln(out, line)
	}
	out.Close()
	w.touch(name)
}

func (w *world) touch(name string) {
	w.clock = w.clock.Add(time.Second)
	if err := os.Chtimes(filepath.Join(w.dir, name), time.Time{}, w.clock); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) compress(name string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	info, _ := os.Stat(path)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(data)
	_ = z.Close()
	if err := os.WriteFile(path+".gz", zipped.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	_ = os.Chtimes(path+".gz", time.Time{}, info.ModTime())
	_ = os.Remove(path)
}

func (w *world) send(_ string, piece []byte, token string) (string, error) {
	if w.fail != nil {
		return "", w.fail
	}
	for line := range strings.Lines(string(piece)) {
		w.got[strings.TrimRight(line, "\n")]++
	}
	return token + "x", nil
}

func (w *world) sendFile(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		var plain bytes.Buffer
		_, _ = plain.ReadFrom(z)
		data = plain.Bytes()
	}
	for line := range strings.Lines(string(data)) {
		w.whole[strings.TrimRight(line, "\n")]++
	}
	return nil
}

func (w *world) look() {
	w.t.Helper()
	w.clock = w.clock.Add(time.Second)
	if _, err := w.f.Look(w.clock, w.send, w.sendFile); err != nil && w.fail == nil {
		w.t.Fatal(err)
	}
}

// restart follows from what another process saved.
func (w *world) restart() {
	places := w.f.Places()
	w.f.Close()
	w.f = New(w.log(), places)
}

// check wants each line handed out: once as a piece, or with a whole file.
func (w *world) check(what string) {
	w.t.Helper()
	for _, line := range w.wrote {
		if w.got[line] > 1 || w.got[line]+w.whole[line] == 0 {
			w.t.Errorf("%s: %q was handed out %d times, and %d times with a file", what, line, w.got[line], w.whole[line])
			return
		}
	}
}

func TestAFileThatGrows(t *testing.T) {
	w := newWorld(t)
	w.look()
	w.write("access.log", 3)
	w.look()
	w.write("access.log", 2)
	half, _ := os.OpenFile(w.log(), os.O_APPEND|os.O_WRONLY, 0)
	fmt.Fprint(half, "half a li")
	w.look()
	if len(w.got) != 5 {
		t.Errorf("got %v", w.got)
	}
	fmt.Fprintln(half, "ne")
	half.Close()
	w.look()
	w.look()
	if w.got["half a line"] != 1 {
		t.Errorf("got %v", w.got)
	}
	w.check("at the end")
}

func TestRotationByName(t *testing.T) {
	w := newWorld(t)
	w.write("access.log", 3)
	w.look()
	w.write("access.log", 3)
	w.rename("access.log", "access.log.1")
	w.look()
	w.write("access.log.1", 2) // the server has not opened the other one yet
	w.write("access.log", 4)
	w.look()
	w.write("access.log.1", 1)
	last, _ := os.OpenFile(filepath.Join(w.dir, "access.log.1"), os.O_APPEND|os.O_WRONLY, 0)
	fmt.Fprint(last, "the end without an end")
	last.Close()
	for range 15 {
		w.look()
	}
	w.check("after the rotation")
	if w.got["the end without an end"] != 1 || len(w.whole) != 0 || len(w.f.old) != 0 {
		t.Errorf("got %v, whole %v, %d files open", w.got, w.whole, len(w.f.old))
	}
}

func TestRotationInPlace(t *testing.T) {
	for _, again := range []int{0, 1, 50} { // lines after the cut: the file may be longer than before at the next look
		w := newWorld(t)
		w.write("access.log", 10)
		w.look()
		w.write("access.log", 5)
		data, _ := os.ReadFile(w.log())
		_ = os.WriteFile(filepath.Join(w.dir, "access.log.1"), data, 0o600)
		w.touch("access.log.1")
		_ = os.Truncate(w.log(), 0)
		w.touch("access.log")
		w.write("access.log", again)
		w.look()
		w.write("access.log", 3)
		w.look()
		w.check(fmt.Sprintf("%d lines after the cut", again))
	}
}

func TestRotationWhileNobodyFollows(t *testing.T) {
	for _, zip := range []bool{false, true} {
		w := newWorld(t)
		w.write("access.log.7", 5) // from before anybody followed
		w.next, w.wrote = 100, nil
		w.write("access.log", 10)
		w.look()
		w.write("access.log", 5)
		w.rename("access.log", "access.log.1")
		w.write("access.log", 6)
		w.rename("access.log.1", "access.log.2")
		w.rename("access.log", "access.log.1")
		if zip {
			w.compress("access.log.2")
			w.compress("access.log.1")
		}
		w.write("access.log", 2)
		w.write("access.log.old", 1) // is not one of them
		w.wrote = w.wrote[:len(w.wrote)-1]
		w.restart()
		for range 15 {
			w.look()
		}
		w.check(fmt.Sprintf("compressed %v", zip))
		if w.whole["line 0 of the log"] != 0 || w.got["line 123 of the log"]+w.whole["line 123 of the log"] != 0 {
			t.Errorf("files that are older, or not rotated ones, were handed out: %v", w.whole)
		}
	}
}

func TestARestartGoesOn(t *testing.T) {
	w := newWorld(t)
	w.write("access.log", 10)
	w.look()
	w.restart()
	w.write("access.log", 10)
	w.look()
	w.rename("access.log", "access.log.1")
	w.write("access.log", 4)
	w.look()
	w.restart() // with the renamed one still open
	w.write("access.log.1", 2)
	for range 15 {
		w.look()
	}
	w.check("after restarts")
}

func TestAPieceThatWasNotTakenComesAgain(t *testing.T) {
	w := newWorld(t)
	w.write("access.log", 10)
	w.fail = errors.New("no node")
	w.look()
	w.fail = nil
	w.look()
	w.check("after an error")
}

func TestALineWithoutAnEndDoesNotStopTheRest(t *testing.T) {
	w := newWorld(t)
	w.write("access.log", 2)
	out, _ := os.OpenFile(w.log(), os.O_APPEND|os.O_WRONLY, 0)
	_, _ = out.Write(bytes.Repeat([]byte("x"), 3*pieceBytes))
	for range 3 {
		w.look()
	}
	fmt.Fprintln(out)
	out.Close()
	w.write("access.log", 2)
	for range 3 {
		w.look()
	}
	w.check("around a line of 24 MiB")
	if len(w.got) != 5 {
		t.Errorf("%d lines", len(w.got))
	}
}

func TestNamesOfRotatedFiles(t *testing.T) {
	for name, want := range map[string]bool{
		"access.log": false, "access.log.1": true, "access.log.12.gz": true, "access.log-20261130": true, "access.log-20261130.zst": true,
		"access-20261130.log": true, "access-2026-11-30T10-00-00.000.log.gz": true, "access.log.old": false, "access-ssl.log": false,
		"access.log.tmp1": false, "other.log.1": false, "error.log": false, "access.log.bz2": false,
	} {
		if got := isRotated("access.log", name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
