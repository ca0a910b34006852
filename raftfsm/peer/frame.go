package peer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

const (
	frameHead = 33 // size of what follows the size, kind, number, group
	// maxFrame bounds one message, in bytes. One raft entry is one record batch, and no listener takes more than 100 MiB at once.
	maxFrame = 128 << 20
	// readStep is how much of a message is made room for before its bytes are there.
	readStep = 1 << 20
)

// frame is one message on a connection: size u32, kind u8, number u64, group [20]byte, body.
type frame struct {
	kind   kind
	number uint64 // chosen by whoever asks, and repeated by the answer
	group  transport.GroupID
	body   []byte
}

func appendFrameHead(b []byte, k kind, number uint64, id transport.GroupID, size int) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(frameHead-4+size))
	b = append(b, byte(k))
	b = binary.BigEndian.AppendUint64(b, number)
	return append(b, id[:]...)
}

func sizeOf(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// readFrame reads one message. admit is called with its size before there is room made for it.
func readFrame(r *bufio.Reader, admit func(size int) error) (f frame, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	size := int64(binary.BigEndian.Uint32(head[:])) - (frameHead - 4)
	if size < 0 || size > maxFrame {
		return f, fmt.Errorf("%w: %d bytes, at most %d are allowed", errMessage, size, maxFrame)
	}
	f.kind, f.number = kind(head[4]), binary.BigEndian.Uint64(head[5:])
	copy(f.group[:], head[13:])
	if err := admit(int(size)); err != nil {
		return f, err
	}
	f.body, err = readBody(r, int(size))
	return f, err
}

// readBody makes room as the bytes come: a size alone costs nothing.
func readBody(r io.Reader, size int) ([]byte, error) {
	body := make([]byte, min(size, readStep))
	for read := 0; ; {
		if _, err := io.ReadFull(r, body[read:]); err != nil {
			return nil, fmt.Errorf("read a message of %d bytes: %w", size, err)
		}
		if read = len(body); read == size {
			return body, nil
		}
		body = append(body, make([]byte, min(size-read, read))...)
	}
}
