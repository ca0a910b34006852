package command

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	version    = 1
	headerSize = 1 + 2 + 8
)

// MaxSize bounds an encoded command in bytes. The largest real ones are topic configurations of a few KiB.
const MaxSize = 1 << 20

// ErrUnsupported is returned for a command of another version, of an unknown kind or with unknown fields: it was written by a newer weir.
var ErrUnsupported = errors.New("command is not supported by this version of weir")

// ErrMalformed is returned for bytes that are no command.
var ErrMalformed = errors.New("malformed command")

// Kind tells commands apart. Numbers are never reused.
type Kind uint16

// Command is one change to the cluster state.
type Command interface {
	Kind() Kind
}

// Append appends the encoding of cmd, proposed at the given time, to dst. The time is kept to the millisecond.
func Append(dst []byte, at time.Time, cmd Command) ([]byte, error) {
	body, err := json.Marshal(cmd)
	if err != nil {
		return dst, fmt.Errorf("encode command %d: %w", cmd.Kind(), err)
	}
	if headerSize+len(body) > MaxSize {
		return dst, fmt.Errorf("encode command %d: %d bytes, at most %d are allowed", cmd.Kind(), headerSize+len(body), MaxSize)
	}
	dst = append(dst, version)
	dst = binary.BigEndian.AppendUint16(dst, uint16(cmd.Kind()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(at.UnixMilli()))
	return append(dst, body...), nil
}

// Parse decodes a command and the time it was proposed at, in UTC. Errors are ErrMalformed or ErrUnsupported.
func Parse(b []byte) (Command, time.Time, error) {
	if len(b) < headerSize || len(b) > MaxSize {
		return nil, time.Time{}, fmt.Errorf("%w: %d bytes, want %d to %d", ErrMalformed, len(b), headerSize, MaxSize)
	}
	if b[0] != version {
		return nil, time.Time{}, fmt.Errorf("%w: version %d, want %d", ErrUnsupported, b[0], version)
	}
	kind := Kind(binary.BigEndian.Uint16(b[1:]))
	at := time.UnixMilli(int64(binary.BigEndian.Uint64(b[3:]))).UTC()
	parse, ok := kinds[kind]
	if !ok {
		return nil, time.Time{}, fmt.Errorf("%w: kind %d", ErrUnsupported, kind)
	}
	cmd, err := parse(b[headerSize:])
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("kind %d: %w", kind, err)
	}
	return cmd, at, nil
}

// body decodes one JSON document into a command of type C.
func body[C Command](b []byte) (Command, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("%w: the body is not one JSON document", ErrMalformed)
	}
	var cmd C
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cmd); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnsupported, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: bytes after the body", ErrMalformed)
	}
	return cmd, nil
}
