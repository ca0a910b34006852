package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/dchest/siphash"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// fingerprint gives the lines of a log file identities that are the same when the file, or a longer version of it, is imported again.
//
// The identity of a line is its number and a source. The source is a keyed hash of what stands before the line, taken at the lines whose count
// is a power of two and kept for the lines up to the next one: line 1 by itself, 2 and 3, 4 to 7, and so on. So a file that grew keeps
// its sources, and two files that begin alike have different ones soon after they part, at the latest when twice as many lines are
// read. A hash of the first line only would take two servers' logs that begin with the same health check for one file; a hash of the whole
// file would not know it again after it grew.
//
// The hash is keyed, since a log line holds an address and everything else in it can be guessed. Blank lines and comments do not count: the
// headers of many formats are the same in each file.
type fingerprint struct {
	prefix string
	sum    hash.Hash
	lines  uint64
	source string
}

func newFingerprint(s *state.State, site state.SiteID) *fingerprint {
	key := sha256.Sum256(append([]byte("fingerprints of imported files "), s.ImportKey[:]...))
	return &fingerprint{prefix: "log-" + strconv.FormatUint(uint64(site), 10) + "-", sum: siphash.New128(key[:16])}
}

// next takes the next line that is neither blank nor a comment, and returns its source.
func (f *fingerprint) next(line []byte) string {
	f.lines++
	first := f.lines == 1
	if first {
		f.add(line) // there is nothing before it
	}
	if f.lines&(f.lines-1) == 0 {
		f.source = f.prefix + hex.EncodeToString(f.sum.Sum(nil))
	}
	if !first {
		f.add(line)
	}
	return f.source
}

func (f *fingerprint) add(line []byte) {
	f.sum.Write(line)
	f.sum.Write(newline)
}

var newline = []byte{'\n'}
