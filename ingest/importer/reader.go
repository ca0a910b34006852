package importer

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Reader takes a stream apart into lines. One goroutine uses it.
type Reader struct {
	r       *bufio.Reader
	longest int
	number  int64
	close   func()

	begun  bool   // the first line that is neither blank nor a comment was read
	table  bool   // the stream is a table in which a quoted field may go on in the next line
	joined []byte // room for such a record
}

// NewReader returns a Reader over plain text or, recognised by its first bytes, gzip, bzip2 or zstd. Lines of more than longest bytes are
// given out cut, with tooLong set. Close must be called.
func NewReader(r io.Reader, longest int) (*Reader, error) {
	head := bufio.NewReaderSize(r, 64<<10)
	magic, err := head.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	out := &Reader{longest: longest, close: func() {}}
	var plain io.Reader = head
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unzip, err := gzip.NewReader(head)
		if err != nil {
			return nil, fmt.Errorf("the log looks like gzip but is not: %w", err)
		}
		plain = unzip
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return nil, errors.New("the file is a zip: unpack it and send the files in it one by one; \"weir import\" does that by itself")
	case bytes.HasPrefix(magic, []byte("BZh")):
		plain = bzip2.NewReader(head)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		unzip, err := zstd.NewReader(head, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("the log looks like zstd but is not: %w", err)
		}
		plain, out.close = unzip, unzip.Close
	}
	out.r = bufio.NewReaderSize(plain, longest+2) // room for the end of the line
	if bom, err := out.r.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = out.r.Discard(3)
	}
	return out, nil
}

// Next returns the next line without its end, valid until the next call, and its number from 1. A row of a table with line ends inside of
// quotes is one line, with the number of its first. At the end of the stream err is io.EOF. Other errors are those of the stream: what was
// read before stays valid.
func (r *Reader) Next() (line []byte, number int64, tooLong bool, err error) {
	line, number, tooLong, err = r.next()
	if !r.begun && len(bytes.TrimSpace(line)) > 0 && line[0] != '#' {
		r.begun = true
		r.table = tableOf(bytes.TrimRight(line, " \t\r")) != nil
	}
	if !r.table || err != nil || tooLong || bytes.Count(line, []byte{'"'})%2 == 0 {
		return line, number, tooLong, err
	}
	r.joined = append(r.joined[:0], line...)
	for {
		more, _, moreTooLong, err := r.next()
		if errors.Is(err, io.EOF) {
			return r.joined, number, false, nil // quotes that are not closed are for the parser to tell
		}
		if err != nil {
			return nil, number, false, err
		}
		r.joined = append(append(r.joined, '\n'), more...)
		if moreTooLong || len(r.joined) > r.longest {
			return r.joined[:min(len(r.joined), 1024)], number, true, nil
		}
		if bytes.Count(more, []byte{'"'})%2 == 1 {
			return r.joined, number, false, nil
		}
	}
}

func (r *Reader) next() (line []byte, number int64, tooLong bool, err error) {
	line, err = r.r.ReadSlice('\n')
	switch {
	case err == nil:
		line = line[:len(line)-1]
	case errors.Is(err, bufio.ErrBufferFull):
		tooLong = true
		line = bytes.Clone(line[:min(len(line), 1024)]) // enough for a report
		if err := r.skipLine(); err != nil && !errors.Is(err, io.EOF) {
			return nil, r.number, true, fmt.Errorf("read the log after line %d: %w", r.number, err)
		}
	case errors.Is(err, io.EOF):
		if len(line) == 0 {
			return nil, r.number, false, io.EOF
		}
	default:
		return nil, r.number, false, fmt.Errorf("read the log after line %d: %w", r.number, err)
	}
	r.number++
	return line, r.number, tooLong || len(line) > r.longest, nil
}

func (r *Reader) skipLine() error {
	for {
		_, err := r.r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// Close gives up the buffers.
func (r *Reader) Close() { r.close() }
