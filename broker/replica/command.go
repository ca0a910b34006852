package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/weir-analytics/weir/broker/seglog"
)

// Kinds of entries in the log beside batches and memberships.
const (
	kindNoop    = seglog.KindConfig + 1
	kindBarrier = seglog.KindConfig + 2
	kindCommand = seglog.KindConfig + 3
)

// Commands are entries of our own. Their first byte says which.
const (
	cmdSetLogStart = 1 // offset i64
	cmdForget      = 2 // count u32, then id i64, epoch i16, last batch or marker i64 each
)

// commandMark is what raft carries beside a command, to tell it from a batch.
var commandMark = []byte{1}

// holeMark is what raft carries beside an entry whose batch was cleaned away. Its
// data is that of a seglog hole.
var holeMark = []byte{2}

func isHole(extensions []byte) bool { return bytes.Equal(extensions, holeMark) }

const expiredSize = 18

func encodeSetLogStart(offset int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{cmdSetLogStart}, uint64(offset))
}

func encodeForget(list []expired) []byte {
	b := binary.BigEndian.AppendUint32([]byte{cmdForget}, uint32(len(list)))
	for _, e := range list {
		b = binary.BigEndian.AppendUint64(b, uint64(e.id))
		b = binary.BigEndian.AppendUint16(b, uint16(e.epoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.last))
	}
	return b
}

// command is a decoded command; exactly one field is set.
type command struct {
	logStart *int64
	forget   []expired
}

func parseCommand(b []byte) (command, error) {
	bad := fmt.Errorf("%w: unknown or broken command of %d bytes", ErrCorrupt, len(b))
	if len(b) == 0 {
		return command{}, bad
	}
	body := b[1:]
	switch b[0] {
	case cmdSetLogStart:
		if len(body) != 8 {
			return command{}, bad
		}
		offset := int64(binary.BigEndian.Uint64(body))
		return command{logStart: &offset}, nil
	case cmdForget:
		if len(body) < 4 {
			return command{}, bad
		}
		n := int64(binary.BigEndian.Uint32(body))
		body = body[4:]
		if int64(len(body)) != n*expiredSize {
			return command{}, bad
		}
		list := make([]expired, n)
		for i := range list {
			list[i] = expired{
				id:    int64(binary.BigEndian.Uint64(body)),
				epoch: int16(binary.BigEndian.Uint16(body[8:])),
				last:  int64(binary.BigEndian.Uint64(body[10:])),
			}
			body = body[expiredSize:]
		}
		return command{forget: list}, nil
	}
	return command{}, bad
}
