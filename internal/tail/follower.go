package tail

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	headBytes  = 1 << 10          // by which a file is known
	pieceBytes = 8 << 20          // longest piece
	longBytes  = 2 << 20          // of a line that does not end within a piece, what is handed out
	quietFor   = 10 * time.Second // after which a file that was renamed is taken to be complete; servers are told to open the new one within seconds
)

// Place says how far a file was handed out.
type Place struct {
	Head      []byte    `json:"head"`               // SHA-256 of the first bytes
	HeadBytes int       `json:"head_bytes"`         // how many they are
	Offset    int64     `json:"offset"`             // bytes that were handed out
	Skipping  bool      `json:"skipping,omitempty"` // within a line that is too long
	Token     string    `json:"token,omitempty"`    // of the last piece that was taken
	Changed   time.Time `json:"changed"`            // when the file had changed last, when it was looked at last
}

// Send takes a piece of a file: whole lines, the last one with its end, unless the file is complete without it. token is what Send
// returned for the piece before, empty at the begin of a file. A piece is handed out again after an error.
type Send func(name string, piece []byte, token string) (string, error)

// SendFile takes a file that was rotated, and possibly compressed, whole: some of its lines were handed out before, under another name.
type SendFile func(name string) error

// Follower follows one path. One goroutine uses it.
type Follower struct {
	path    string
	current *file   // nil while there is none
	old     []*file // renamed, oldest first
	left    []Place // of files before the start, that were not found yet
}

// New returns a Follower of path that goes on at the places of another one, which may be none.
func New(path string, places []Place) *Follower {
	return &Follower{path: path, left: places}
}

// Path returns the path.
func (f *Follower) Path() string { return f.path }

// Places returns how far it is, for New. The current file is the last.
func (f *Follower) Places() []Place {
	places := append([]Place(nil), f.left...)
	for _, o := range f.old {
		places = append(places, o.Place)
	}
	if f.current != nil {
		places = append(places, f.current.Place)
	}
	return places
}

// Close closes the files.
func (f *Follower) Close() {
	for _, o := range f.old {
		o.close()
	}
	if f.current != nil {
		f.current.close()
	}
	f.old, f.current = nil, nil
}

// Look hands out what has come since the last look. It returns whether anything was. An error is one of a file or of send; the next look goes
// on where this one ended.
func (f *Follower) Look(now time.Time, send Send, sendFile SendFile) (some bool, err error) {
	if err := f.find(now, sendFile); err != nil {
		return false, err
	}
	for len(f.old) > 0 {
		o := f.old[0]
		sent, err := o.hand(send, false)
		some = some || sent
		if err != nil {
			return some, err
		}
		if sent {
			o.quietSince = now
		}
		if now.Sub(o.quietSince) < quietFor {
			break
		}
		if sent, err = o.hand(send, true); err != nil {
			return some, err
		}
		some = some || sent
		o.close()
		f.old = f.old[1:]
	}
	if f.current == nil {
		return some, nil
	}
	sent, err := f.current.hand(send, false)
	return some || sent, err
}

// find opens the file, and finds out whether the one that is open is still it.
func (f *Follower) find(now time.Time, sendFile SendFile) error {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.retire(now)
		return nil
	}
	if err != nil {
		return err
	}
	if f.current != nil {
		if !os.SameFile(info, f.current.info) {
			f.retire(now)
		} else if same, err := f.current.same(); err != nil {
			return err
		} else if !same { // cut off in place, or written anew
			if err := f.catchUp(f.current.Changed, nil, sendFile); err != nil {
				return err
			}
			f.current.Place = Place{}
		}
	}
	if f.current != nil {
		return nil
	}
	opened, err := open(f.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := f.resume(now, opened, sendFile); err != nil {
		opened.close()
		return err
	}
	f.current = opened
	return nil
}

// retire keeps the current file open under no name, to hand out what still comes.
func (f *Follower) retire(now time.Time) {
	if f.current != nil {
		f.current.quietSince = now
		f.old = append(f.old, f.current)
		f.current = nil
	}
}

// resume brings a file that was opened first to the place where it was left, and hands out files that were rotated meanwhile.
func (f *Follower) resume(now time.Time, opened *file, sendFile SendFile) error {
	var since time.Time
	missing := f.left[:0:0]
	for _, p := range f.left {
		if since.IsZero() || p.Changed.Before(since) {
			since = p.Changed
		}
		if ok, err := opened.is(p); err != nil {
			return err
		} else if ok {
			opened.Place = p
		} else {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		renamed, err := f.renamed(missing)
		if err != nil {
			return err
		}
		if err := f.catchUp(since, renamed, sendFile); err != nil {
			for _, r := range renamed {
				r.close()
			}
			return err
		}
		for _, r := range renamed {
			r.quietSince = now
		}
		f.old = append(f.old, renamed...)
	}
	f.left = nil
	return nil
}

// file is a file that is open.
type file struct {
	Place
	f          *os.File
	info       fs.FileInfo // when it was opened
	name       string
	quietSince time.Time
}

func open(name string) (*file, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file that can be followed", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f: f, info: info, name: name}, nil
}

func (o *file) close() { o.f.Close() }

// same reports whether the file still begins with what was handed out of it.
func (o *file) same() (bool, error) { return o.is(o.Place) }

func (o *file) is(p Place) (bool, error) {
	info, err := o.f.Stat()
	if err != nil || info.Size() < p.Offset || p.HeadBytes < 0 || p.HeadBytes > headBytes {
		return false, err
	}
	if p.HeadBytes == 0 {
		return p.Offset == 0, nil
	}
	head, err := o.head(p.HeadBytes)
	return err == nil && bytes.Equal(head, p.Head), err
}

// head returns the hash of the first n bytes; of a file that has become shorter meanwhile, of fewer.
func (o *file) head(n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := o.f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	sum := sha256.Sum256(b[:got])
	return sum[:], nil
}

// hand hands out whole lines, and if complete also a last one without an end.
func (o *file) hand(send Send, complete bool) (some bool, err error) {
	buf := make([]byte, 0)
	for {
		info, err := o.f.Stat()
		if err != nil {
			return some, err
		}
		o.Changed = info.ModTime()
		size := min(info.Size()-o.Offset, pieceBytes)
		if size <= 0 {
			return some, nil
		}
		if int64(cap(buf)) < size {
			buf = make([]byte, size)
		}
		n, err := o.f.ReadAt(buf[:size], o.Offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return some, err
		}
		sent, err := o.piece(buf[:n], send, complete && o.Offset+int64(n) >= info.Size())
		some = some || sent
		if err != nil || !sent && !o.Skipping {
			return some, err
		}
	}
}

// piece hands out what is whole of what was read. A line that does not end within a piece is handed out cut, once, and the rest of it
// is stepped over: the receiver counts it as one line that is too long.
func (o *file) piece(read []byte, send Send, complete bool) (bool, error) {
	end := bytes.LastIndexByte(read, '\n') + 1
	if o.Skipping {
		if first := bytes.IndexByte(read, '\n'); first >= 0 {
			o.Offset, o.Skipping = o.Offset+int64(first)+1, false
			return o.piece(read[first+1:], send, complete)
		}
		o.Offset += int64(len(read))
		return false, nil
	}
	out, next, skipping := read[:end], o.Offset+int64(end), false
	switch {
	case end > 0:
	case len(read) == pieceBytes:
		out, next, skipping = append(bytes.Clone(read[:longBytes]), '\n'), o.Offset+int64(len(read)), true
	case complete && len(read) > 0:
		out, next = read, o.Offset+int64(len(read))
	default:
		return false, nil
	}
	token, err := send(o.name, out, o.Token)
	if err != nil {
		return false, err
	}
	o.Token, o.Offset, o.Skipping = token, next, skipping
	if o.HeadBytes < headBytes {
		n := int(min(headBytes, o.Offset))
		if o.Head, err = o.head(n); err != nil {
			return true, err
		}
		o.HeadBytes = n
	}
	return true, nil
}
