package group

import (
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// Transaction says in whose transaction records are written.
type Transaction struct {
	ProducerID    int64
	ProducerEpoch int16
	// Since is the high watermark from before it was found out that the transaction is open: when it has ended since then, the
	// records are refused, because nobody would end it again.
	Since int64
}

// stagedOffset is an offset that was committed in a transaction which has not ended.
type stagedOffset struct {
	producer int64
	offset   *offset
}

// The methods of slot follow the log: each is called for a committed record, in the order of the log. The last record of a
// partition counts, as it does for the cleaner of the topic. One in a transaction begins to count at the transaction's marker.

func (s *slot) commit(o *offset) { s.committed, s.staged = o, nil }

func (s *slot) forget() { s.committed, s.staged = nil, nil }

func (s *slot) stage(producer int64, o *offset) {
	if i := s.stagedBy(producer); i >= 0 {
		s.staged = append(s.staged[:i:i], s.staged[i+1:]...)
	}
	s.staged = append(s.staged, stagedOffset{producer, o})
}

// end takes a marker into account.
func (s *slot) end(producer int64, commit bool) {
	i := s.stagedBy(producer)
	switch {
	case i < 0: // a later record has taken its place
	case commit:
		s.committed, s.staged = s.staged[i].offset, s.staged[i+1:]
	default:
		s.staged = append(s.staged[:i:i], s.staged[i+1:]...)
	}
}

func (s *slot) stagedBy(producer int64) int {
	for i := range s.staged {
		if s.staged[i].producer == producer {
			return i
		}
	}
	return -1
}

// unstable says that a transaction may still change the offset.
func (s *slot) unstable() bool { return s != nil && (len(s.staged) > 0 || s.staging > 0) }

// unused says that nothing is known of the partition.
func (s *slot) unused() bool { return s.committed == nil && len(s.staged) == 0 && s.writes == 0 }

// checkTxnCommit says whether the caller may commit in a transaction. One that does not say which member it is may, as in
// Kafka: clients before version 3 can't say it.
func (g *group) checkTxnCommit(memberID string, instance *string, generation int32) (*member, int16) {
	if g.state == dead {
		return nil, codeCoordinatorNotAvailable
	}
	if generation < 0 && memberID == "" && instance == nil {
		return nil, codeNone
	}
	m, code := g.find(memberID, instance)
	switch {
	case code != codeNone:
		return nil, code
	case generation != g.generation:
		return nil, codeIllegalGeneration
	}
	return m, codeNone
}

// commitInTxn stores offsets that count once the transaction is committed; done is called when that is stored or has failed.
func (g *group) commitInTxn(now time.Time, m *member, in Transaction, items []commitItem, done func(err error)) {
	if m != nil {
		m.touch(now)
	}
	recs := make([]record.Record, len(items))
	for i, item := range items {
		recs[i] = offsetRecord(g.id, item.topic, item.partition, item.offset, now)
		s := g.slot(item.topicPartition)
		s.writes++
		s.staging++
	}
	g.writes++
	g.journal.writeInTxn(g, in, recs, func(_ time.Time, err error) {
		g.writes--
		for _, item := range items {
			s := g.slot(item.topicPartition)
			s.writes--
			s.staging--
			if err == nil {
				g.stage(in.ProducerID, item.topicPartition, item.offset)
			}
			g.dropUnused(item.topicPartition)
		}
		done(err)
	})
}

func (g *group) stage(producer int64, tp topicPartition, o *offset) {
	g.slot(tp).stage(producer, o)
	if g.staged[producer] == nil {
		g.staged[producer] = map[topicPartition]struct{}{}
	}
	g.staged[producer][tp] = struct{}{}
}

// endTxn takes the marker of a producer's transaction into account.
func (g *group) endTxn(producer int64, commit bool) {
	for tp := range g.staged[producer] {
		if s := g.offsets[tp.topic][tp.partition]; s != nil {
			s.end(producer, commit)
			g.dropUnused(tp)
		}
	}
	delete(g.staged, producer)
}
