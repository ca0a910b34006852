package txn

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// state is where a transactional id is in its life, numbered as Kafka stores it.
type state int8

const (
	// empty: the id has a producer, which has not begun a transaction.
	empty state = iota
	// ongoing: partitions take part, their records are not readable yet for those who read committed ones only.
	ongoing
	// prepareCommit: it is decided that the transaction is committed; markers are being written.
	prepareCommit
	// prepareAbort: it is decided that the transaction is aborted; markers are being written.
	prepareAbort
	// completeCommit: all markers of a commit are written.
	completeCommit
	// completeAbort: all markers of an abort are written.
	completeAbort
	// dead: the id is forgotten, its tombstone on the way to the log.
	dead
	// prepareEpochFence is a step of Kafka's that it does not store. Here the new epoch and the abort are one step; the state
	// is known only because its number and name belong to the protocol.
	prepareEpochFence
)

var stateNames = [...]string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

// String returns Kafka's name of the state.
func (s state) String() string { return stateNames[s] }

// prepared says that the outcome is decided and not known everywhere yet.
func (s state) prepared() bool { return s == prepareCommit || s == prepareAbort }

const (
	noProducerID int64 = -1
	noEpoch      int16 = -1
	noTime       int64 = -1
	// lastUsableEpoch is the highest epoch that a client is given. One more is left to fence it with.
	lastUsableEpoch int16 = 1<<15 - 2
)

// The versions of transactions (feature transaction.version) that clients use.
const (
	// versionOne: the epoch stays from one transaction to the next, partitions are added before records are sent.
	versionOne int16 = 1
	// versionTwo (KIP-890): each end raises the epoch, so that nothing late can reach the next transaction.
	versionTwo int16 = 2
)

type topicPartition struct {
	topic     string
	partition int32
}

// producer names one incarnation of a producer.
type producer struct {
	id    int64
	epoch int16
}

// metadata is what is stored of a transactional id. Values are copied; partitions is never changed in place.
type metadata struct {
	producer
	// previousID is the id from before the epochs of one were used up, nextID the one to use once the transaction is
	// complete; noProducerID when there is none.
	previousID, nextID int64
	// lastEpoch is the epoch from which the same producer came to its present one, noEpoch when another producer may have
	// had the former one. It is not stored.
	lastEpoch  int16
	timeoutMs  int32
	state      state
	version    int16 // of transactions, as the producer uses them
	partitions map[topicPartition]struct{}
	startedMs  int64 // of the last transaction, noTime before the first
	updatedMs  int64
}

func (m *metadata) with(tps []topicPartition) map[topicPartition]struct{} {
	all := make(map[topicPartition]struct{}, len(m.partitions)+len(tps))
	maps.Copy(all, m.partitions)
	for _, tp := range tps {
		all[tp] = struct{}{}
	}
	return all
}

func (m *metadata) has(tps []topicPartition) bool {
	for _, tp := range tps {
		if _, ok := m.partitions[tp]; !ok {
			return false
		}
	}
	return true
}

// sorted lists the partitions in the order of topic and number.
func (m *metadata) sorted() []topicPartition {
	return slices.SortedFunc(maps.Keys(m.partitions), func(a, b topicPartition) int {
		if c := strings.Compare(a.topic, b.topic); c != 0 {
			return c
		}
		return int(a.partition) - int(b.partition)
	})
}

// exhausted says that the producer id has no epoch left to give out.
func (m *metadata) exhausted() bool { return m.epoch >= lastUsableEpoch }

// deadline is when the running transaction is aborted for its length.
func (m *metadata) deadline() time.Time { return time.UnixMilli(m.startedMs + int64(m.timeoutMs)) }
