package meter

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Topic is where the ranges are.
const Topic = "broker.received"

// ID names a partition. A topic that was deleted and made again has another id.
type ID struct {
	TopicID   [16]byte
	Partition int32
}

// Range is what a partition has taken in during one minute, or since the last
// range when nobody counted meanwhile.
type Range struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"` // 32 hex digits
	Partition int32  `json:"partition"`
	Epoch     int32  `json:"epoch"` // of the leader that has counted
	Minute    Minute `json:"minute"`
	// From and To are offsets: the range is [From, To).
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Records are those of producers, without markers of transactions. Bytes are
	// those of all batches as they are stored.
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
	// Recounted says that the range was counted in the log, after a restart or a
	// change of leader: when its records came is not known more exactly than that
	// it was before the end of the minute, and what was deleted or cleaned away
	// meanwhile is not in the sums.
	Recounted bool `json:"recounted,omitempty"`
	// Unknown says that the log could not be read: the sums are 0.
	Unknown bool `json:"unknown,omitempty"`
}

// Minute is minutes since 1970, UTC. As JSON it is 2026-02-03T09:00Z.
type Minute int64

const minuteLayout = "2006-01-02T15:04Z"

// MinuteOf is the minute that a time is in.
func MinuteOf(t time.Time) Minute {
	m := t.Unix() / 60
	if t.Unix() < 0 && t.Unix()%60 != 0 {
		m--
	}
	return Minute(m)
}

// Time is when the minute begins.
func (m Minute) Time() time.Time { return time.Unix(int64(m)*60, 0).UTC() }

// MarshalText implements encoding.TextMarshaler.
func (m Minute) MarshalText() ([]byte, error) { return m.Time().AppendFormat(nil, minuteLayout), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Minute) UnmarshalText(b []byte) error {
	t, err := time.Parse(minuteLayout, string(b))
	if err != nil {
		return fmt.Errorf("minute %q: %w", b, err)
	}
	*m = MinuteOf(t)
	return nil
}

// ID is the partition of the range.
func (r *Range) ID() (ID, error) {
	id, err := hex.DecodeString(r.TopicID)
	if err != nil || len(id) != 16 {
		return ID{}, fmt.Errorf("topic id %q, want 32 hex digits", r.TopicID)
	}
	return ID{[16]byte(id), r.Partition}, nil
}

// Key is that of the range's record: a range that is written twice has the same.
func (r *Range) Key() []byte {
	minute, _ := r.Minute.MarshalText()
	return fmt.Appendf(nil, "%s|%s|%d|%s|%d", r.Topic, r.TopicID, r.Partition, minute, r.From)
}

// headsKey is the key of the record that says how far all partitions are.
const headsKey = "heads"

// ErrMalformed is returned for a record that is none of ours.
var ErrMalformed = errors.New("malformed record of " + Topic)

// Append encodes the value of a range.
func Append(dst []byte, r Range) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("BUG: a range can't be encoded: " + err.Error())
	}
	return append(dst, b...)
}

// Parse decodes the value of a record whose key is that of a range. ok is false
// for records of another kind. Fields that are not known are ignored.
func Parse(key, value []byte) (r Range, ok bool, err error) {
	if !strings.Contains(string(key), "|") || value == nil {
		return r, false, nil
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return Range{}, false, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if _, err := r.ID(); err != nil || r.From < 0 || r.To < r.From || r.Records < 0 || r.Bytes < 0 || r.Partition < 0 {
		return Range{}, false, fmt.Errorf("%w: %s", ErrMalformed, value)
	}
	return r, true, nil
}
