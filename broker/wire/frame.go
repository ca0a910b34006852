package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"
)

const (
	// firstBytes is what is allocated for a frame before any of its body has come; the memory budget covers it. Larger ones grow by
	// doubling as bytes arrive. Growing costs copies: with 256 KiB here a fifth of the time of 1-MiB produce requests went there.
	firstBytes = 4 << 20
	// stepBytes is what has to arrive within Config.StallFor: with 30 s, a peer of less than 35 KB/s is too slow.
	stepBytes = 1 << 20
	// decodeFactor bounds what decoding can make of one byte of a request: kmsg allocates an array on its claimed length when the rest
	// of the request could hold that many of its smallest elements, which are down to 2 bytes for 64 in memory.
	decodeFactor = 32
	keyProduce   = 0
)

var (
	errTooLarge = errors.New("request too large")
	errNotKafka = errors.New("not a Kafka request")
)

// frame is one request as read. release gives its part of the memory budget back and must be called once.
type frame struct {
	bytes   []byte
	release func()
}

// frameReader reads frames of one connection: size i32 big endian, then that many bytes.
type frameReader struct {
	in     io.Reader
	cfg    *Config
	budget *semaphore.Weighted
	// progress is called before each wait for bytes within a frame, to move the deadline.
	progress func()
}

// next reads one frame. io.EOF means that the peer closed between frames.
func (r *frameReader) next(ctx context.Context) (frame, error) {
	var head [6]byte // size and key: the cap depends on the key
	if _, err := io.ReadFull(r.in, head[:4]); err != nil {
		return frame{}, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:4])))
	if err := r.checkSize(head[:4], size); err != nil {
		return frame{}, err
	}
	r.progress()
	if _, err := io.ReadFull(r.in, head[4:]); err != nil {
		return frame{}, noEOF(err)
	}
	limit, cost := r.cfg.MaxRequestBytes, size*decodeFactor
	if binary.BigEndian.Uint16(head[4:]) == keyProduce {
		limit, cost = r.cfg.MaxProduceBytes, size
	}
	if size > limit {
		return frame{}, fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, size, limit)
	}
	if err := r.budget.Acquire(ctx, int64(cost)); err != nil {
		return frame{}, err
	}
	f := frame{release: func() { r.budget.Release(int64(cost)) }}
	var err error
	if f.bytes, err = r.body(head[4:], size); err != nil {
		f.release()
		return frame{}, noEOF(err)
	}
	return f, nil
}

func (r *frameReader) checkSize(head []byte, size int) error {
	switch {
	case string(head) == "GET " || string(head) == "POST" || string(head) == "HEAD":
		return fmt.Errorf("%w: HTTP was spoken to the Kafka port", errNotKafka)
	case head[0] == 0x16 && head[1] == 3:
		return fmt.Errorf("%w: TLS was spoken to a plaintext port", errNotKafka)
	case size < 10:
		return fmt.Errorf("%w: frame of %d bytes", errNotKafka, size)
	case size > r.cfg.MaxProduceBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, size, r.cfg.MaxProduceBytes)
	}
	return nil
}

// body reads the rest of a frame of size bytes of which it was given the start.
func (r *frameReader) body(start []byte, size int) ([]byte, error) {
	buf := make([]byte, min(size, firstBytes))
	for have := copy(buf, start); have < size; {
		if have == len(buf) {
			grown := make([]byte, min(size, 2*len(buf)))
			copy(grown, buf)
			buf = grown
		}
		r.progress()
		n, err := io.ReadFull(r.in, buf[have:min(len(buf), have+stepBytes)])
		if err != nil {
			return nil, err
		}
		have += n
	}
	return buf, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
