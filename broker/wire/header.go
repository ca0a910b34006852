package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errHeader is returned for a frame that does not begin with a request header.
var errHeader = errors.New("not a Kafka request header")

// flexibleFrom[key] is the first version of key that has tagged fields, and so the longer headers. Asked of kmsg once.
var flexibleFrom = sync.OnceValue(func() map[int16]int16 {
	from := make(map[int16]int16)
	for key := range int16(kmsg.MaxKey + 1) {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for v := range req.MaxVersion() + 1 {
			req.SetVersion(v)
			if req.IsFlexible() {
				from[key] = v
				break
			}
		}
	}
	return from
})

func flexible(key, version int16) bool {
	from, ok := flexibleFrom()[key]
	return ok && version >= from
}

// parseHeader splits a frame into the fields of its header and its body. All of big endian:
//
//	0        2            4                  8                10
//	| key i16 | version i16 | correlation i32 | client len i16 | client ... | tags, flexible versions only | body ...
//
// A client length of -1 is a null client id. ControlledShutdown v0, the one request without client id, is not a client's.
// The body aliases frame.
func parseHeader(frame []byte) (Request, error) {
	if len(frame) < 10 {
		return Request{}, fmt.Errorf("%w: frame of %d bytes, need at least 10", errHeader, len(frame))
	}
	req := Request{
		Key:           int16(binary.BigEndian.Uint16(frame[0:])),
		Version:       int16(binary.BigEndian.Uint16(frame[2:])),
		CorrelationID: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	if req.Key < 0 || req.Version < 0 {
		return Request{}, fmt.Errorf("%w: key %d version %d", errHeader, req.Key, req.Version)
	}
	rest := frame[10:]
	if n := int(int16(binary.BigEndian.Uint16(frame[8:]))); n >= 0 {
		if n > len(rest) {
			return Request{}, fmt.Errorf("%w: client id of %d bytes in a frame with %d left", errHeader, n, len(rest))
		}
		if utf8.Valid(rest[:n]) {
			req.Client.ID = string(rest[:n])
		}
		rest = rest[n:]
	} else if n != -1 {
		return Request{}, fmt.Errorf("%w: client id of %d bytes", errHeader, n)
	}
	if flexible(req.Key, req.Version) {
		var err error
		if rest, err = skipTags(rest); err != nil {
			return Request{}, err
		}
	}
	req.Body = rest
	return req, nil
}

// skipTags passes over the tagged fields of a header: count, then tag, size and bytes of each. None is defined so far.
func skipTags(b []byte) ([]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, fmt.Errorf("%w: tag count", errHeader)
	}
	for b = b[n:]; count > 0; count-- {
		_, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%w: tag", errHeader)
		}
		size, m := binary.Uvarint(b[n:])
		if m <= 0 || size > uint64(len(b)-n-m) {
			return nil, fmt.Errorf("%w: tag of %d bytes", errHeader, size)
		}
		b = b[n+m+int(size):]
	}
	return b, nil
}

// appendHeader appends the frame size and the response header for a body of bodyBytes.
func appendHeader(dst []byte, correlationID int32, tags bool, bodyBytes int) []byte {
	size := 4 + bodyBytes
	if tags {
		size++
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if tags {
		dst = append(dst, 0)
	}
	return dst
}
