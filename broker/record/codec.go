package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a compression of records, numbered as the protocol numbers it.
type Codec int8

// The codecs of the protocol.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String returns the name that Kafka's compression.type uses.
func (c Codec) String() string {
	if c < 0 || int(c) >= len(codecNames) {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return codecNames[c]
}

// ParseCodec returns the codec with that name ("none", "gzip", "snappy",
// "lz4", "zstd"), or ErrCodec.
func ParseCodec(name string) (Codec, error) {
	for i, n := range codecNames {
		if n == name {
			return Codec(i), nil
		}
	}
	return None, fmt.Errorf("%w %q, want one of %v", ErrCodec, name, codecNames)
}

// Decoders are kept for reuse: making one costs more than a small batch.
var (
	gzipReaders    sync.Pool // *gzip.Reader
	gzipWriters    sync.Pool // *gzip.Writer
	lz4Readers     = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
	lz4Writers     = sync.Pool{New: func() any { return newLZ4Writer() }}
	inflateBuffers = sync.Pool{New: func() any { return new([]byte) }}

	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
		if err != nil {
			panic("BUG: zstd encoder options: " + err.Error())
		}
		return e
	})
	zstdReaders = sync.Pool{New: func() any {
		// The window bound is what bounds memory when a frame hides its size.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			panic("BUG: zstd decoder options: " + err.Error())
		}
		return d
	}}
)

const (
	// maxZstdWindow is the largest window in bytes that any client's standard
	// levels ask for (level 22 wants 128 MiB and is refused: it would let a
	// few small batches take gigabytes).
	maxZstdWindow = 32 << 20

	// keepInflateBuffer is the largest buffer in bytes that is kept for reuse.
	keepInflateBuffer = 4 << 20
)

func putInflateBuffer(b *[]byte) {
	if cap(*b) <= keepInflateBuffer {
		inflateBuffers.Put(b)
	}
}

// inflate appends the plain records to dst and refuses more than limit bytes.
func inflate(c Codec, dst, src []byte, limit int) ([]byte, error) {
	switch c {
	case Gzip:
		return inflateGzip(dst, src, limit)
	case Snappy:
		return inflateSnappy(dst, src, limit)
	case LZ4:
		r := lz4Readers.Get().(*lz4.Reader)
		defer lz4Readers.Put(r)
		r.Reset(bytes.NewReader(src))
		return readBounded(c, dst, r, limit)
	case Zstd:
		return inflateZstd(dst, src, limit)
	}
	return nil, fmt.Errorf("%w %d", ErrCodec, c)
}

func inflateGzip(dst, src []byte, limit int) ([]byte, error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, fmt.Errorf("%w: gzip: %v", ErrCorrupt, err)
	}
	return readBounded(Gzip, dst, r, limit)
}

func inflateZstd(dst, src []byte, limit int) ([]byte, error) {
	r := zstdReaders.Get().(*zstd.Decoder)
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, fmt.Errorf("%w: zstd: %v", ErrCorrupt, err)
	}
	out, err := readBounded(Zstd, dst, r, limit)
	if err == nil { // a decoder that failed may still hold a large window
		_ = r.Reset(nil)
		zstdReaders.Put(r)
	} else {
		r.Close()
	}
	return out, err
}

// readBounded reads r to its end into dst.
func readBounded(c Codec, dst []byte, r io.Reader, limit int) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		room := dst[len(dst):cap(dst)]
		if left := limit - len(dst); len(room) > left+1 { // one more tells "too large" from "just fits"
			room = room[:left+1]
		}
		n, err := r.Read(room)
		dst = dst[:len(dst)+n]
		if len(dst) > limit {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
		}
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, c, err)
		}
	}
}

// Snappy comes in two framings: one raw block, as most clients send it, or the
// blocks of the xerial Java library, each with a 4-byte length, after 16 bytes
// of magic and versions.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeaderSize = 16

func inflateSnappy(dst, src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return inflateSnappyBlock(dst, src, limit)
	}
	if len(src) < xerialHeaderSize {
		return nil, fmt.Errorf("%w: snappy: xerial header cut short", ErrCorrupt)
	}
	src = src[xerialHeaderSize:]
	for len(src) > 0 {
		if len(src) < 4 {
			return nil, fmt.Errorf("%w: snappy: block length cut short", ErrCorrupt)
		}
		n := int(int32(binary.BigEndian.Uint32(src)))
		src = src[4:]
		if n < 0 || n > len(src) {
			return nil, fmt.Errorf("%w: snappy: block of %d bytes, %d left", ErrCorrupt, n, len(src))
		}
		var err error
		if dst, err = inflateSnappyBlock(dst, src[:n], limit); err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return dst, nil
}

func inflateSnappyBlock(dst, src []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return nil, fmt.Errorf("%w: snappy: %v", ErrCorrupt, err)
	}
	if n > limit-len(dst) {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(dst)+n, limit)
	}
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	out, err := s2.Decode(dst[at:at+n:at+n], src)
	if err != nil {
		return nil, fmt.Errorf("%w: snappy: %v", ErrCorrupt, err)
	}
	return dst[:at+len(out)], nil
}

// deflate appends the compressed form of src to dst.
func deflate(c Codec, dst, src []byte) ([]byte, error) {
	switch c {
	case Snappy:
		return append(dst, s2.EncodeSnappy(nil, src)...), nil
	case Zstd:
		return zstdEncoder().EncodeAll(src, dst), nil
	case Gzip:
		w, _ := gzipWriters.Get().(*gzip.Writer)
		if w == nil {
			w = gzip.NewWriter(nil)
		}
		defer gzipWriters.Put(w)
		return writeAll(dst, src, w, w.Reset)
	case LZ4:
		w := lz4Writers.Get().(*lz4.Writer)
		defer lz4Writers.Put(w)
		return writeAll(dst, src, w, w.Reset)
	}
	return nil, fmt.Errorf("%w %d", ErrCodec, c)
}

// newLZ4Writer makes blocks of 64 KiB, as Kafka's producers do: the library's own 4 MiB would be held for each writer.
func newLZ4Writer() *lz4.Writer {
	w := lz4.NewWriter(nil)
	if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
		panic("BUG: lz4 options: " + err.Error())
	}
	return w
}

func writeAll(dst, src []byte, w io.WriteCloser, reset func(io.Writer)) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	reset(out)
	if _, err := w.Write(src); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}
