package ingest

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// errEncoding is returned for a body in an encoding that is not known here, or in several.
var errEncoding = errors.New("unknown content encoding")

// unpacker gives what a compressed body holds to read. How much of that is taken is for read to bound.
type unpacker func(packed io.Reader, read func(plain io.Reader) error) error

// decoderOf returns the decoder for the values of Content-Encoding, nil when the body is as it is.
func decoderOf(values []string) (unpacker, error) {
	if len(values) == 0 {
		return nil, nil
	}
	if len(values) > 1 {
		return nil, errEncoding
	}
	switch strings.ToLower(strings.TrimSpace(values[0])) {
	case "", "identity":
		return nil, nil
	case "gzip", "x-gzip":
		return unpackGzip, nil
	case "deflate":
		return unpackDeflate, nil
	case "zstd":
		return unpackZstd, nil
	}
	return nil, errEncoding
}

// Decoders are kept: making one costs more than most bodies.
var (
	gzipReaders sync.Pool // *gzip.Reader
	zstdReaders sync.Pool // *zstd.Decoder
)

func unpackGzip(packed io.Reader, read func(io.Reader) error) error {
	z, _ := gzipReaders.Get().(*gzip.Reader)
	if z == nil {
		z = new(gzip.Reader)
	}
	defer gzipReaders.Put(z)
	if err := z.Reset(packed); err != nil {
		return err
	}
	return read(z)
}

// unpackDeflate takes what the word means, zlib, and what many send under it, bare deflate: the first two bytes of zlib are a multiple of 31.
func unpackDeflate(packed io.Reader, read func(io.Reader) error) error {
	buffered := bufio.NewReader(packed)
	head, err := buffered.Peek(2)
	if err != nil {
		return err
	}
	if head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		z, err := zlib.NewReader(buffered)
		if err != nil {
			return err
		}
		return read(z)
	}
	return read(flate.NewReader(buffered))
}

// zstdWindow bounds what a decoder holds of the past, in bytes: what all decoders must be able to.
const zstdWindow = 8 << 20

func unpackZstd(packed io.Reader, read func(io.Reader) error) error {
	z, _ := zstdReaders.Get().(*zstd.Decoder)
	if z == nil {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
	}
	defer func() {
		_ = z.Reset(nil) // forgets the body
		zstdReaders.Put(z)
	}()
	if err := z.Reset(packed); err != nil {
		return err
	}
	return read(z)
}
