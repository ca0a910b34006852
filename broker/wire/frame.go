package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// smallBytes is read of a frame before it takes a share of the memory budget, so that connections on which nothing goes on hold
	// nothing: what they have in memory is bounded by their number. Frames up to this size are small, see budget.
	smallBytes = 16 << 10
	// firstBytes is what is allocated for a larger frame. Still larger ones grow by doubling as bytes arrive. Growing costs copies: with
	// 256 KiB here a fifth of the time of 1-MiB produce requests went there.
	firstBytes = 1<<20 + 64<<10
	// decodeFactor bounds what decoding can make of one byte of a request: kmsg allocates an array on its claimed length when the rest
	// of the request could hold that many of its smallest elements, which are down to 2 bytes for 64 in memory.
	decodeFactor = 32
	keyProduce   = 0
	// slowestKeeper is the rate in bytes per second that a request must come at while others wait for it, instead of slowestPeer.
	slowestKeeper = 1 << 20
)

var (
	errTooLarge = errors.New("request too large")
	errNotKafka = errors.New("not a Kafka request")
	errStalled  = errors.New("the rest of a request did not come")
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
	budget *budget
	// deadline is called before each wait for bytes within a frame.
	deadline func(time.Duration)
	stranger bool // nobody has logged in yet: frames are small
	raw      bool // frames have no header
}

// strangerBytes is the largest frame of a connection without the log-in that it needs. A token of any mechanism is far smaller; Kafka takes 512 KiB.
const strangerBytes = 64 << 10

// next reads one frame. io.EOF means that the peer closed between frames.
func (r *frameReader) next(ctx context.Context) (frame, error) {
	var head [6]byte // size and key: the cap depends on the key
	pace := pace{r: r, left: r.cfg.StallFor}
	if err := pace.fill(head[:4], slowestPeer); err != nil {
		return frame{}, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:4])))
	if err := r.checkSize(head[:4], size); err != nil {
		return frame{}, err
	}
	if r.raw {
		return r.rawFrame(ctx, &pace, size)
	}
	if err := pace.fill(head[4:], slowestPeer); err != nil {
		return frame{}, noEOF(err)
	}
	limit, cost := r.cfg.MaxRequestBytes, size*decodeFactor
	if binary.BigEndian.Uint16(head[4:]) == keyProduce {
		limit, cost = r.cfg.MaxProduceBytes, size
	}
	if size > limit {
		return frame{}, fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, size, limit)
	}
	if r.stranger {
		limit = strangerBytes
	}
	if size > limit {
		return frame{}, fmt.Errorf("%w: %d bytes before a log-in, at most %d", errTooLarge, size, limit)
	}
	held := &share{b: r.budget, small: size <= smallBytes}
	bytes, err := r.body(ctx, &pace, held, head[4:], size, cost)
	if err != nil {
		held.release()
		return frame{}, noEOF(err)
	}
	return frame{bytes: bytes, release: held.release}, nil
}

// rawFrame reads what follows the size of a frame without a header.
func (r *frameReader) rawFrame(ctx context.Context, pace *pace, size int) (frame, error) {
	held := &share{b: r.budget, small: size <= smallBytes}
	bytes, err := r.body(ctx, pace, held, nil, size, size)
	if err != nil {
		held.release()
		return frame{}, noEOF(err)
	}
	return frame{bytes: bytes, release: held.release}, nil
}

func (r *frameReader) checkSize(head []byte, size int) error {
	switch {
	case string(head) == "GET " || string(head) == "POST" || string(head) == "HEAD":
		return fmt.Errorf("%w: HTTP was spoken to the Kafka port", errNotKafka)
	case head[0] == 0x16 && head[1] == 3:
		return fmt.Errorf("%w: TLS was spoken to a plaintext port", errNotKafka)
	case r.raw && size > strangerBytes:
		return fmt.Errorf("%w: %d bytes before a log-in, at most %d", errTooLarge, size, strangerBytes)
	case r.raw && size >= 0:
		return nil
	case size < 10:
		return fmt.Errorf("%w: frame of %d bytes", errNotKafka, size)
	case size > r.cfg.MaxProduceBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, size, r.cfg.MaxProduceBytes)
	}
	return nil
}

// body reads the rest of a frame of size bytes of which it was given the start. The share grows as bytes come, and to the whole cost
// once all are there.
func (r *frameReader) body(ctx context.Context, pace *pace, held *share, start []byte, size, cost int) ([]byte, error) {
	buf := make([]byte, min(size, smallBytes))
	counted := 0
	for have := copy(buf, start); have < size; have = len(buf) {
		if have == len(buf) {
			larger := min(size, max(firstBytes, 2*len(buf)))
			if err := held.grow(ctx, int64(larger-counted)); err != nil {
				return nil, err
			}
			counted = larger
			grown := make([]byte, larger)
			copy(grown, buf)
			buf = grown
		}
		slowest := slowestPeer
		if held.keeps() {
			slowest = slowestKeeper
		}
		if err := pace.fill(buf[have:], slowest); err != nil {
			return nil, err
		}
	}
	return buf, held.grow(ctx, int64(cost-counted))
}

// pace grants a peer Config.StallFor of waiting for one frame. Bytes that come earn it back at the given rate, so that a peer that
// stops, or sends a byte now and then, is given up after about that time, and a slow one is not.
type pace struct {
	r    *frameReader
	left time.Duration
}

// fill reads len(buf) bytes.
func (p *pace) fill(buf []byte, slowest int) error {
	for have := 0; have < len(buf); {
		begin := time.Now()
		p.r.deadline(p.left)
		n, err := p.r.in.Read(buf[have:])
		have += n
		p.left -= time.Since(begin)
		p.left = min(p.r.cfg.StallFor, p.left+time.Duration(n)*time.Second/time.Duration(slowest))
		switch {
		case have == len(buf):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%w: %w", errStalled, err)
		case err == io.EOF && have > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
