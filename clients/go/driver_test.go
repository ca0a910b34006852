package clients

import (
	"context"
	"time"
)

// rec is a record. A nil key, value or header value is null, which is not the same as empty.
type rec struct {
	Key     []byte   `json:"key"`
	Value   []byte   `json:"value"`
	Headers []header `json:"headers"`
	TimeMs  int64    `json:"time"`
	Offset  int64    `json:"offset"`
}

type header struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// driver is what the cases ask of a client. Each call makes a new client, with the client's defaults wherever the case does not depend on
// a setting.
type driver interface {
	// produce writes the records to a partition, with acknowledgement by all.
	produce(ctx context.Context, topic string, partition int32, opts produceOpts, recs []rec) error
	// consume reads n records from an offset on.
	consume(ctx context.Context, topic string, partition int32, offset int64, n int) ([]rec, error)
	// offsetAt is the offset of the first record that is not older; -1 or the end when there is none.
	offsetAt(ctx context.Context, topic string, partition int32, at time.Time) (int64, error)
	// member reads a topic from its start as a member of a group until ctx ends, commits what each was called with, and leaves.
	member(ctx context.Context, group, topic string, each func(rec)) error
	// transact runs the transactions one after the other with one producer. Each writes its value to partition 0, and commits at, an
	// offset of that partition, for the group if the client can do that in a transaction.
	transact(ctx context.Context, topic, group string, txns []transaction) error
}

type transaction struct {
	Value  string `json:"value"`
	At     int64  `json:"at"`
	Commit bool   `json:"commit"` // else it is aborted
}

type produceOpts struct {
	Codec      string `json:"codec"` // none, gzip, snappy, lz4, zstd
	Idempotent bool   `json:"idempotent"`
}

// traits say where a client is not like the others.
type traits struct {
	no          map[string]string // what it cannot do: the reason that the skipped case prints, by name of the case
	noOffsets   bool              // it has no offsets in transactions
	emptyIsNull bool              // it shows empty keys and values as null
}

// The session of members is the shortest the broker takes, so that the death of one is noticed soon.
const session = 6 * time.Second

// maxRecord is the size of the largest record of the cases, and limit what clients and topic are set to for it.
const (
	maxRecord = 10 << 20
	limit     = 11 << 20
)
