package hardstate

import (
	"encoding/binary"
	"hash/crc32"
)

// GroupID names a raft group: for a partition its topic id and number.
type GroupID [20]byte

// PartitionGroup is the id of a partition's group.
func PartitionGroup(topic [16]byte, partition int32) GroupID {
	var id GroupID
	copy(id[:], topic[:])
	binary.BigEndian.PutUint32(id[16:], uint32(partition))
	return id
}

// Partition is the topic id and number that PartitionGroup was given.
func (id GroupID) Partition() (topic [16]byte, partition int32) {
	return [16]byte(id[:16]), int32(binary.BigEndian.Uint32(id[16:]))
}

// State is what a group must not forget.
type State struct {
	Term      uint64
	VoteTerm  uint64
	Candidate string
}

const (
	fileMagic  = "WHST"
	version    = 1
	headerSize = 16

	recordFixed  = 46
	maxCandidate = 4096
	flagGone     = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func fileHeader() []byte {
	b := make([]byte, headerSize)
	copy(b, fileMagic)
	binary.BigEndian.PutUint16(b[4:], version)
	binary.BigEndian.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli))
	return b
}

// appendRecord encodes the state of a group twice: a damaged copy at the end of
// the file can't be told from an unfinished write, two of them can.
func appendRecord(dst []byte, id GroupID, s State, gone bool) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s.Candidate)))
	flags := uint16(0)
	if gone {
		flags |= flagGone
	}
	dst = binary.BigEndian.AppendUint16(dst, flags)
	dst = append(dst, id[:]...)
	dst = binary.BigEndian.AppendUint64(dst, s.Term)
	dst = binary.BigEndian.AppendUint64(dst, s.VoteTerm)
	dst = append(dst, 'w', 'r')
	dst = append(dst, s.Candidate...)
	binary.BigEndian.PutUint32(dst[at:], crc32.Checksum(dst[at+4:], castagnoli))
	return append(dst, dst[at:]...)
}

type parsed struct {
	id   GroupID
	s    State
	gone bool
	size int // of one copy
}

// parseCopy reads one copy at the start of b.
func parseCopy(b []byte) (p parsed, ok bool) {
	if len(b) < recordFixed {
		return p, false
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	p.size = recordFixed + n
	if n > maxCandidate || len(b) < p.size || b[44] != 'w' || b[45] != 'r' ||
		crc32.Checksum(b[4:p.size], castagnoli) != binary.BigEndian.Uint32(b) {
		return p, false
	}
	p.gone = binary.BigEndian.Uint16(b[6:])&flagGone != 0
	copy(p.id[:], b[8:])
	p.s.Term = binary.BigEndian.Uint64(b[28:])
	p.s.VoteTerm = binary.BigEndian.Uint64(b[36:])
	p.s.Candidate = string(b[recordFixed:p.size])
	return p, true
}

// parseRecord reads the record at the start of b, from its second copy when the
// first is damaged. next is the size of both copies.
func parseRecord(b []byte) (p parsed, next int, ok bool) {
	if p, ok = parseCopy(b); ok {
		return p, 2 * p.size, true
	}
	// The length in the first copy may be what is damaged: look for the second
	// copy wherever it can be.
	for size := recordFixed; size <= recordFixed+maxCandidate && size+recordFixed <= len(b); size++ {
		if p, ok = parseCopy(b[size:]); ok && p.size == size {
			return p, 2 * size, true
		}
	}
	return parsed{}, 0, false
}
