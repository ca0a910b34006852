package ingest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/dchest/siphash"

	"github.com/weir-analytics/weir/ingest/importer"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// fingerprint gives the lines of a log file identities that are the same when the file, or a longer version of it, is imported again.
//
// The identity of a line is its number and a source. The source is a keyed hash of the file up to and with the last line whose count is a
// power of two: line 1 has its own, 2 and 3 have one, 4 to 7, and so on. So a file that grew keeps
// its sources, and two files that begin alike have different ones soon after they part, at the latest when twice as many lines are
// read. A hash of the first line only would take two servers' logs that begin with the same health check for one file; a hash of the whole
// file would not know it again after it grew.
//
// The hash is keyed, since a log line holds an address and everything else in it can be guessed. It is a chain, each link made of the one
// before and a line, so that an import can go on where another ended (see place). Blank lines and comments do not count: the headers of many
// formats are the same in each file.
type fingerprint struct {
	prefix  string
	k0, k1  uint64
	sum     digest
	lines   uint64
	source  string
	scratch []byte
}

// digest is one link of the chain.
type digest [16]byte

func newFingerprint(s *state.State, site state.SiteID) *fingerprint {
	key := sha256.Sum256(append([]byte("fingerprints of imported files "), s.ImportKey[:]...))
	return &fingerprint{prefix: "log-" + strconv.FormatUint(uint64(site), 10) + "-",
		k0: binary.LittleEndian.Uint64(key[:8]), k1: binary.LittleEndian.Uint64(key[8:16])}
}

// next takes the next line that is neither blank nor a comment, and returns its source.
func (f *fingerprint) next(line []byte) string {
	f.lines++
	f.scratch = append(append(f.scratch[:0], f.sum[:]...), line...)
	h0, h1 := siphash.Hash128(f.k0, f.k1, f.scratch)
	binary.LittleEndian.PutUint64(f.sum[:8], h0)
	binary.LittleEndian.PutUint64(f.sum[8:], h1)
	if f.lines&(f.lines-1) == 0 {
		f.source = f.prefix + hex.EncodeToString(f.sum[:])
	}
	return f.source
}

// ErrBadPlace is returned for a place that no import has given.
var ErrBadPlace = errors.New("this is not what the import before has answered as \"next\"")

// place is where in a file an import ended, so that another one goes on with the next line and gives it the identity that it has in
// the whole file. Callers keep it as text and need not know what is in it: a line count, the state of the fingerprint, and what the header of
// the file said. No text of a line is in it.
type place struct {
	Version int      `json:"v"`
	Number  int64    `json:"n"`           // lines so far
	Lines   uint64   `json:"l"`           // of them neither blank nor comments
	Sum     []byte   `json:"s"`           // of the fingerprint
	Source  string   `json:"f,omitempty"` // of the line before, without the prefix
	Header  []string `json:"h,omitempty"` // lines for a fresh parser
}

const placeVersion = 1

// place returns where the import is.
func (im *importing) place() string {
	f := im.fingerprint
	text, err := json.Marshal(place{placeVersion, im.number, f.lines, f.sum[:], f.source[min(len(f.prefix), len(f.source)):], im.parser.Header()})
	if err != nil {
		return "" // BUG: there is nothing in it that cannot be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// goOn brings an import that has not read yet to a place.
func (im *importing) goOn(text string) error {
	var p place
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &p) != nil || p.Version != placeVersion || p.Number < 0 || p.Lines > uint64(p.Number) || len(p.Sum) != len(digest{}) {
		return ErrBadPlace
	}
	if sum, err := hex.DecodeString(p.Source); err != nil || len(sum) != len(digest{}) && p.Lines > 0 {
		return ErrBadPlace
	}
	f := im.fingerprint
	im.number, f.lines, f.sum = p.Number, p.Lines, digest(p.Sum)
	if p.Lines > 0 {
		f.source = f.prefix + p.Source
	}
	for _, line := range p.Header {
		var none importer.Line
		_ = im.parser.Parse([]byte(line), &none) // a header line is no request
	}
	return nil
}
