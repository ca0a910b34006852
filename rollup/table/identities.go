package table

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-analytics/weir/rollup/tally"
	"github.com/weir-analytics/weir/rollup/visit"
)

// Identities is tally's part of the table; it implements tally.Store. Keys, after 'd' and the partition (4 bytes):
//
//	'p'                          position and latest time of receipt, uvarints
//	's' source                   highest sequence, uvarint
//	'i' hour(8) block(4) position(8)   client ids of a block that were learned up to a position: hashes, 8 bytes each, little-endian
//	'v' site(4) visitor(8)       a visitor whose visits may go on, in the form of rollup/visit
type Identities struct{ t *Table }

// Identities returns tally's part of the table.
func (t *Table) Identities() Identities { return Identities{t} }

var _ tally.Store = Identities{}

func identityPrefix(partition int32, kind ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{'d'}, uint32(partition)), kind...)
}

func blockPrefix(partition int32, b tally.Block) []byte {
	key := identityPrefix(partition, 'i')
	key = binary.BigEndian.AppendUint64(key, uint64(b.Hour)^1<<63)
	return binary.BigEndian.AppendUint32(key, uint32(b.N))
}

// Load implements tally.Store.
func (s Identities) Load(partition int32) (tally.Saved, bool, error) {
	saved := tally.Saved{Sources: map[string]uint64{}}
	found := false
	prefix := identityPrefix(partition)
	err := s.t.scan(prefix, func(key, value []byte) error {
		rest := key[len(prefix):]
		if len(rest) == 0 {
			return fmt.Errorf("%w: key %x", ErrDamaged, key)
		}
		switch rest[0] {
		case 'p':
			position, n := binary.Uvarint(value)
			received, m := binary.Uvarint(value[max(n, 0):])
			if n <= 0 || m <= 0 {
				return fmt.Errorf("%w: key %x", ErrDamaged, key)
			}
			saved.Position, saved.ReceivedMs, found = int64(position), int64(received), true
		case 's':
			seq, n := binary.Uvarint(value)
			if n <= 0 {
				return fmt.Errorf("%w: key %x", ErrDamaged, key)
			}
			saved.Sources[string(rest[1:])] = seq
		case 'i':
			if len(rest) != 1+8+4+8 || len(value)%8 != 0 {
				return fmt.Errorf("%w: key %x", ErrDamaged, key)
			}
			addIDs(&saved, int64(binary.BigEndian.Uint64(rest[1:])^1<<63), int(binary.BigEndian.Uint32(rest[9:])), value)
		case 'v':
			if len(rest) != 1+4+8 {
				return fmt.Errorf("%w: key %x", ErrDamaged, key)
			}
			saved.Visits = append(saved.Visits, visit.Saved{Site: binary.BigEndian.Uint32(rest[1:]), Visitor: binary.BigEndian.Uint64(rest[5:]),
				Data: slices.Clone(value)})
		}
		return nil
	})
	return saved, found, err
}

func addIDs(saved *tally.Saved, hour int64, n int, ids []byte) {
	if last := len(saved.Blocks) - 1; last < 0 || saved.Blocks[last].Hour != hour || saved.Blocks[last].N != n {
		saved.Blocks = append(saved.Blocks, tally.Block{Hour: hour, N: n})
	}
	b := &saved.Blocks[len(saved.Blocks)-1]
	for ; len(ids) > 0; ids = ids[8:] {
		b.IDs = append(b.IDs, binary.LittleEndian.Uint64(ids))
	}
}

// Highest returns the highest sequence of a source that is counted in a partition, 0 when none is.
func (s Identities) Highest(partition int32, source string) (uint64, error) {
	value, err := s.t.get(append(identityPrefix(partition, 's'), source...))
	if err != nil || value == nil {
		return 0, err
	}
	seq, n := binary.Uvarint(value)
	if n <= 0 {
		return 0, fmt.Errorf("%w: source %q of partition %d", ErrDamaged, source, partition)
	}
	return seq, nil
}

// Save implements tally.Store.
func (s Identities) Save(partition int32, change tally.Change) error {
	batch := s.t.db.NewBatch()
	defer batch.Close()
	for source, seq := range change.Sources {
		if err := batch.Set(append(identityPrefix(partition, 's'), source...), binary.AppendUvarint(nil, seq), nil); err != nil {
			return wrapWrite(err)
		}
	}
	for _, b := range change.Dropped {
		prefix := blockPrefix(partition, b)
		if err := batch.DeleteRange(prefix, upTo(prefix), nil); err != nil {
			return wrapWrite(err)
		}
	}
	for _, b := range change.Added {
		value := make([]byte, 0, 8*len(b.IDs))
		for _, id := range b.IDs {
			value = binary.LittleEndian.AppendUint64(value, id)
		}
		key := binary.BigEndian.AppendUint64(blockPrefix(partition, b), uint64(change.Position))
		if err := batch.Set(key, value, nil); err != nil {
			return wrapWrite(err)
		}
	}
	for _, v := range change.Visits {
		key := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(identityPrefix(partition, 'v'), v.Site), v.Visitor)
		var err error
		if v.Data == nil {
			err = batch.Delete(key, nil)
		} else {
			err = batch.Set(key, v.Data, nil)
		}
		if err != nil {
			return wrapWrite(err)
		}
	}
	position := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(change.Position)), uint64(max(change.ReceivedMs, 0)))
	if err := batch.Set(identityPrefix(partition, 'p'), position, nil); err != nil {
		return wrapWrite(err)
	}
	s.t.dirty.Store(true)
	return wrapWrite(batch.Commit(pebble.NoSync))
}

// Forget implements tally.Store.
func (s Identities) Forget(partition int32) error {
	prefix := identityPrefix(partition)
	return wrapWrite(s.t.db.DeleteRange(prefix, upTo(prefix), pebble.NoSync))
}
