package peer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// use says what a connection is for.
type use string

const (
	useControl  use = "control"  // heartbeats, votes, small messages
	useBulk     use = "bulk"     // messages with records, so that they keep nothing small waiting
	useSnapshot use = "snapshot" // one snapshot
	useStream   use = "stream"   // what HandleStreams takes
	useJoin     use = "join"     // a node that is no member yet
)

// hello is the first thing on a connection, from whoever opened it; the other side answers with its own. Each is a JSON document after its
// size as u32. Fields that are not known are ignored, another version is refused.
type hello struct {
	Version int    `json:"version"`
	Use     use    `json:"use,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Server  string `json:"server,omitempty"`
	Address string `json:"address,omitempty"` // where the sender is reached
	Error   string `json:"error,omitempty"`   // why the sender wants no connection

	Join   *JoinRequest `json:"join,omitempty"`
	Joined *JoinAnswer  `json:"joined,omitempty"`
	Later  bool         `json:"later,omitempty"` // the sender takes nobody in yet
}

const (
	helloVersion = 1
	maxHello     = 64 << 10 // bytes; certificates and addresses of a cluster are a few
	helloWait    = 5 * time.Second
)

func writeHello(nc net.Conn, h hello) error {
	h.Version = helloVersion
	doc, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode a greeting: %w", err)
	}
	_, err = nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(doc))), doc...))
	return err
}

func readHello(r io.Reader) (h hello, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return h, fmt.Errorf("read a greeting: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxHello {
		return h, fmt.Errorf("%w: greeting of %d bytes", errMessage, n)
	}
	doc := make([]byte, n)
	if _, err := io.ReadFull(r, doc); err != nil {
		return h, fmt.Errorf("read a greeting: %w", err)
	}
	if err := json.Unmarshal(doc, &h); err != nil {
		return h, fmt.Errorf("%w: greeting: %w", errMessage, err)
	}
	if h.Error != "" {
		return h, errors.New(h.Error)
	}
	if h.Version != helloVersion {
		return h, fmt.Errorf("%w: greeting of version %d, this program speaks version %d", errMessage, h.Version, helloVersion)
	}
	return h, nil
}
