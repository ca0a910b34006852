package group

import (
	"slices"
	"strings"
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// noExpiry is the expiry of an offset that follows the general retention.
const noExpiry int64 = -1

// offset is one committed offset.
type offset struct {
	at          int64
	leaderEpoch int32 // -1 when the client did not say
	metadata    string
	committedMs int64
	expiresMs   int64 // noExpiry, or when the client wanted it to go
}

// slot is what a group knows about one partition.
type slot struct {
	committed *offset // nil when nothing is committed
	// staged are offsets of transactions that have not ended, in the order of the log.
	staged []stagedOffset
	// writes counts commits and tombstones for this partition whose outcome is not known yet, staging those of them that are in
	// transactions. While there are any, the slot is neither expired nor dropped.
	writes, staging int
}

type topicPartition struct {
	topic     string
	partition int32
}

// commitItem is one offset to commit.
type commitItem struct {
	topicPartition
	offset *offset
}

// checkCommit says whether the caller may commit. Somebody outside the group protocol (no member id, generation -1) may as
// long as the group has no members.
func (g *group) checkCommit(memberID string, instance *string, generation int32) (*member, int16) {
	if g.state == dead {
		return nil, codeCoordinatorNotAvailable
	}
	if generation < 0 && g.state == empty {
		return nil, codeNone
	}
	if generation < 0 && memberID == "" && instance == nil {
		return nil, codeUnknownMemberID
	}
	m, code := g.find(memberID, instance)
	switch {
	case code != codeNone:
		return nil, code
	case generation != g.generation:
		return nil, codeIllegalGeneration
	case g.state == completing:
		// The member knows this generation but not yet its assignment: what it commits belongs to the one before.
		return nil, codeRebalanceInProgress
	}
	return m, codeNone
}

// commit stores offsets; done is called when that is committed or has failed. A commit is a sign of life of its member.
func (g *group) commit(now time.Time, m *member, items []commitItem, done func(err error)) {
	if m != nil {
		m.touch(now)
	}
	recs := make([]record.Record, len(items))
	for i, item := range items {
		recs[i] = offsetRecord(g.id, item.topic, item.partition, item.offset, now)
		g.slot(item.topicPartition).writes++
	}
	g.write(recs, func(_ time.Time, err error) {
		for _, item := range items {
			s := g.slot(item.topicPartition)
			s.writes--
			if err == nil {
				s.commit(item.offset)
			}
			g.dropUnused(item.topicPartition)
		}
		done(err)
	})
}

// forgetAtOnce bounds the tombstones of one write, so that a group of any size fits into batches. A guess: about 100 KiB.
const forgetAtOnce = 1000

// forget writes tombstones for offsets, which stay visible until those are committed. done gets the first error.
func (g *group) forget(now time.Time, targets []topicPartition, done func(now time.Time, err error)) {
	var first error
	chunks := slices.Collect(slices.Chunk(targets, forgetAtOnce))
	if len(chunks) == 0 {
		done(now, nil)
		return
	}
	for i, chunk := range chunks {
		recs := make([]record.Record, len(chunk))
		for j, tp := range chunk {
			recs[j] = offsetTombstone(g.id, tp.topic, tp.partition, now)
			g.slot(tp).writes++
		}
		g.write(recs, func(now time.Time, err error) {
			g.forgotten(chunk, err)
			if first == nil {
				first = err
			}
			if i == len(chunks)-1 {
				done(now, first)
			}
		})
	}
}

func (g *group) forgotten(chunk []topicPartition, err error) {
	for _, tp := range chunk {
		s := g.slot(tp)
		s.writes--
		if err == nil {
			s.forget()
		}
		g.dropUnused(tp)
	}
}

// slot returns the slot of a partition and makes it if necessary.
func (g *group) slot(tp topicPartition) *slot {
	partitions, ok := g.offsets[tp.topic]
	if !ok {
		partitions = map[int32]*slot{}
		g.offsets[tp.topic] = partitions
	}
	s, ok := partitions[tp.partition]
	if !ok {
		s = &slot{}
		partitions[tp.partition] = s
	}
	return s
}

func (g *group) dropUnused(tp topicPartition) {
	partitions := g.offsets[tp.topic]
	if s := partitions[tp.partition]; s != nil && s.unused() {
		delete(partitions, tp.partition)
		if len(partitions) == 0 {
			delete(g.offsets, tp.topic)
		}
	}
}

// committed returns the committed offset of a partition, nil when there is none.
func (g *group) committed(topic string, partition int32) *offset {
	if s := g.offsets[topic][partition]; s != nil {
		return s.committed
	}
	return nil
}

// targets lists the slots that keep wants, in the order of topic and partition.
func (g *group) targets(keep func(tp topicPartition, s *slot) bool) []topicPartition {
	var list []topicPartition
	for topic, partitions := range g.offsets {
		for partition, s := range partitions {
			if tp := (topicPartition{topic, partition}); keep(tp, s) {
				list = append(list, tp)
			}
		}
	}
	slices.SortFunc(list, func(a, b topicPartition) int {
		if c := strings.Compare(a.topic, b.topic); c != 0 {
			return c
		}
		return int(a.partition) - int(b.partition)
	})
	return list
}

// delete writes tombstones for all of an empty group. It is dead while they are on their way and empty again if that fails.
func (g *group) delete(now time.Time, done func(err error)) {
	g.state = dead
	var first error
	all := g.targets(func(topicPartition, *slot) bool { return true })
	g.forget(now, all, func(_ time.Time, err error) { first = err })
	g.write([]record.Record{groupTombstone(g.id, now)}, func(_ time.Time, err error) {
		if err == nil {
			g.stored = false
		}
		if first == nil {
			first = err
		}
		if first != nil {
			g.state = empty
		}
		done(first)
	})
}
