package record

import (
	"encoding/binary"
	"fmt"
)

// Recompress returns batch with its records under another codec, in bytes of
// its own; offsets, times, producer and sequence stay. It checks the checksum,
// not the records. More than maxInflated bytes of records are ErrTooLarge.
func Recompress(batch []byte, codec Codec, maxInflated int) ([]byte, error) {
	b, err := Check(batch)
	if err != nil {
		return nil, err
	}
	plain := b.Raw[HeaderSize:]
	if b.Codec() != None {
		if plain, err = inflate(b.Codec(), nil, plain, maxInflated); err != nil {
			return nil, err
		}
	}
	out := append([]byte(nil), b.Raw[:HeaderSize]...)
	if codec == None {
		out = append(out, plain...)
	} else if out, err = deflate(codec, out, plain); err != nil {
		return nil, fmt.Errorf("compress anew: %w", err)
	}
	binary.BigEndian.PutUint32(out[posLength:], uint32(len(out)-prefixSize))
	binary.BigEndian.PutUint16(out[posAttr:], uint16(b.Attributes&^attrCodec|int16(codec)))
	seal(out)
	return out, nil
}
