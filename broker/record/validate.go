package record

import "fmt"

// Rules is what a broker demands of a batch from a producer.
type Rules struct {
	// MaxInflated bounds the records in bytes after inflating; 0 means
	// DefaultMaxInflated.
	MaxInflated int
	// RequireKey refuses records without a key, for compacted topics.
	RequireKey bool
}

// Validate checks b, which must be exactly one batch as a producer sends it:
// checksum, at least one record, offset deltas 0, 1, 2 without a gap, the
// record count that the header promises, and producer fields that fit
// together. It reads every record, so that a batch that passes can be read by
// every consumer. A largest timestamp that is not that of the records is put
// right in b, checksum included, as Kafka does: lookups by time rely on it.
// Records that are wrong one by one, while the batch as a whole is well formed,
// are named in a *RecordsError.
func Validate(b []byte, rules Rules) (Batch, error) {
	batch, err := Check(b)
	if err != nil {
		return Batch{}, err
	}
	if err := batch.checkProducerFields(); err != nil {
		return Batch{}, err
	}
	bound := rules.MaxInflated
	if bound == 0 {
		bound = DefaultMaxInflated
	}
	next, newest := int32(0), NoTimestamp
	var keyless []int32
	err = batch.forEach(bound, func(r Record) error {
		if r.OffsetDelta != next {
			return fmt.Errorf("%w: record %d has offset delta %d", ErrInvalid, next, r.OffsetDelta)
		}
		if rules.RequireKey && r.Key == nil {
			keyless = append(keyless, next)
		}
		next++
		newest = max(newest, r.TimestampMs)
		return nil
	})
	if err != nil {
		return Batch{}, err
	}
	if len(keyless) > 0 {
		return Batch{}, &RecordsError{Records: keyless, Reason: "the record has no key, which a compacted topic asks for"}
	}
	if newest != batch.MaxTimestampMs {
		setMaxTimestamp(b, newest)
		return Check(b)
	}
	return batch, nil
}

func (b Batch) checkProducerFields() error {
	switch {
	case b.Count == 0:
		return fmt.Errorf("%w: no records", ErrInvalid)
	case b.Count != b.LastOffsetDelta+1:
		return fmt.Errorf("%w: %d records with last offset delta %d", ErrInvalid, b.Count, b.LastOffsetDelta)
	case b.Codec() > Zstd:
		return fmt.Errorf("%w %d", ErrCodec, b.Codec())
	case b.Control():
		return fmt.Errorf("%w: control batches come from the broker alone", ErrInvalid)
	case b.Attributes&attrDeleteHorizon != 0:
		return fmt.Errorf("%w: the delete horizon is the cleaner's to set", ErrInvalid)
	case b.LogAppendTime():
		return fmt.Errorf("%w: the append time is the broker's to set", ErrInvalid)
	case b.ProducerID < NoProducer:
		return fmt.Errorf("%w: producer id %d", ErrInvalid, b.ProducerID)
	case b.ProducerID != NoProducer && (b.ProducerEpoch < 0 || b.BaseSequence < 0):
		return fmt.Errorf("%w: producer %d with epoch %d and sequence %d",
			ErrInvalid, b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	case b.ProducerID == NoProducer && b.Transactional():
		return fmt.Errorf("%w: transactional batch without a producer id", ErrInvalid)
	}
	return nil
}
