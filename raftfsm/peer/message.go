package peer

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// kind says what a frame carries. Numbers are on the wire.
type kind uint8

const (
	kindAppend     kind = 1
	kindVote       kind = 2
	kindPreVote    kind = 3
	kindTimeoutNow kind = 4
	kindHeartbeats kind = 5 // of many groups; the frame's own group is zero
	kindCall       kind = 6 // a service and its request
	kindAnswer     kind = 7 // to the frame with the same number
	kindRefusal    kind = 8 // the same, with the text of an error
	kindProbe      kind = 9 // whether the group is open
)

// errMessage is returned for bytes that are no message of ours.
var errMessage = errors.New("malformed message of a peer")

const (
	appendFixed = 36 // term, previous index and term, commit index, number of entries
	entryFixed  = 31 // index, term, kind, appended at, sizes of extensions and data
	maxExt      = 1<<16 - 1
)

// appendEntriesRequest returns the pieces of a request; the data of entries is not copied.
func appendEntriesRequest(q *raft.AppendEntriesRequest) [][]byte {
	heads := make([]byte, 0, appendFixed+entryFixed*len(q.Entries))
	heads = binary.BigEndian.AppendUint64(heads, q.Term)
	heads = binary.BigEndian.AppendUint64(heads, q.PrevLogEntry)
	heads = binary.BigEndian.AppendUint64(heads, q.PrevLogTerm)
	heads = binary.BigEndian.AppendUint64(heads, q.LeaderCommitIndex)
	heads = binary.BigEndian.AppendUint32(heads, uint32(len(q.Entries)))
	pieces := make([][]byte, 0, 1+3*len(q.Entries))
	from := 0
	for _, e := range q.Entries {
		heads = binary.BigEndian.AppendUint64(heads, e.Index)
		heads = binary.BigEndian.AppendUint64(heads, e.Term)
		heads = append(heads, byte(e.Type))
		var at int64
		if !e.AppendedAt.IsZero() {
			at = e.AppendedAt.UnixNano()
		}
		heads = binary.BigEndian.AppendUint64(heads, uint64(at))
		heads = binary.BigEndian.AppendUint16(heads, uint16(len(e.Extensions)))
		heads = binary.BigEndian.AppendUint32(heads, uint32(len(e.Data)))
		pieces = append(pieces, heads[from:len(heads):len(heads)])
		from = len(heads)
		if len(e.Extensions) > 0 {
			pieces = append(pieces, e.Extensions)
		}
		if len(e.Data) > 0 {
			pieces = append(pieces, e.Data)
		}
	}
	if len(q.Entries) == 0 {
		pieces = append(pieces, heads)
	}
	return pieces
}

// parseAppendEntries reads a request. The entries keep b.
func parseAppendEntries(b []byte) (*raft.AppendEntriesRequest, error) {
	r := reader{b: b}
	q := &raft.AppendEntriesRequest{Term: r.u64(), PrevLogEntry: r.u64(), PrevLogTerm: r.u64(), LeaderCommitIndex: r.u64()}
	n := int(r.u32())
	if n > len(r.b)/entryFixed {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", errMessage, n, len(r.b))
	}
	if n > 0 {
		q.Entries = make([]*raft.Log, n)
	}
	all := make([]raft.Log, n)
	for i := range all {
		e := &all[i]
		e.Index, e.Term, e.Type = r.u64(), r.u64(), raft.LogType(r.u8())
		if at := int64(r.u64()); at != 0 {
			e.AppendedAt = unixNano(at)
		}
		ext, data := int(r.u16()), int(r.u32())
		if e.Extensions = r.take(ext); ext == 0 {
			e.Extensions = nil
		}
		if e.Data = r.take(data); data == 0 {
			e.Data = nil
		}
		q.Entries[i] = e
	}
	return q, r.end("request to append")
}

func appendEntriesResponse(p *raft.AppendEntriesResponse) []byte {
	b := binary.BigEndian.AppendUint64(nil, p.Term)
	b = binary.BigEndian.AppendUint64(b, p.LastLog)
	return append(b, flags(p.Success, p.NoRetryBackoff))
}

func parseAppendEntriesResponse(b []byte, p *raft.AppendEntriesResponse) error {
	r := reader{b: b}
	p.Term, p.LastLog = r.u64(), r.u64()
	f := r.u8()
	p.Success, p.NoRetryBackoff = f&1 != 0, f&2 != 0
	return r.end("answer to append")
}

func voteRequest(q *raft.RequestVoteRequest) []byte {
	b := binary.BigEndian.AppendUint64(nil, q.Term)
	b = binary.BigEndian.AppendUint64(b, q.LastLogIndex)
	b = binary.BigEndian.AppendUint64(b, q.LastLogTerm)
	return append(b, flags(q.LeadershipTransfer))
}

func parseVote(b []byte) (*raft.RequestVoteRequest, error) {
	r := reader{b: b}
	q := &raft.RequestVoteRequest{Term: r.u64(), LastLogIndex: r.u64(), LastLogTerm: r.u64()}
	q.LeadershipTransfer = r.u8()&1 != 0
	return q, r.end("request for a vote")
}

func preVoteRequest(q *raft.RequestPreVoteRequest) []byte {
	b := binary.BigEndian.AppendUint64(nil, q.Term)
	b = binary.BigEndian.AppendUint64(b, q.LastLogIndex)
	return binary.BigEndian.AppendUint64(b, q.LastLogTerm)
}

func parsePreVote(b []byte) (*raft.RequestPreVoteRequest, error) {
	r := reader{b: b}
	q := &raft.RequestPreVoteRequest{Term: r.u64(), LastLogIndex: r.u64(), LastLogTerm: r.u64()}
	return q, r.end("request for a vote ahead")
}

// granted is the answer to both kinds of request for a vote, and to a snapshot.
func granted(term uint64, yes bool) []byte {
	return append(binary.BigEndian.AppendUint64(nil, term), flags(yes))
}

func parseGranted(b []byte) (term uint64, yes bool, err error) {
	r := reader{b: b}
	term = r.u64()
	yes = r.u8()&1 != 0
	return term, yes, r.end("answer to a request for a vote")
}

// snapshotRequest is what comes ahead of the bytes of a snapshot.
func snapshotRequest(id transport.GroupID, q *raft.InstallSnapshotRequest) []byte {
	b := append([]byte(nil), id[:]...)
	b = append(b, byte(q.SnapshotVersion))
	for _, n := range []uint64{q.Term, q.LastLogIndex, q.LastLogTerm, q.ConfigurationIndex, uint64(q.Size)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, q.Configuration...)
}

func parseSnapshot(b []byte) (id transport.GroupID, q *raft.InstallSnapshotRequest, err error) {
	r := reader{b: b}
	copy(id[:], r.take(len(id)))
	q = &raft.InstallSnapshotRequest{SnapshotVersion: raft.SnapshotVersion(r.u8())}
	q.Term, q.LastLogIndex, q.LastLogTerm, q.ConfigurationIndex, q.Size = r.u64(), r.u64(), r.u64(), r.u64(), int64(r.u64())
	q.Configuration = r.take(len(r.b))
	if q.Size < 0 {
		return id, nil, fmt.Errorf("%w: snapshot of %d bytes", errMessage, q.Size)
	}
	return id, q, r.end("snapshot")
}

const (
	beatSize       = 28 // group, term
	beatAnswerSize = 18 // known, term, last index, success
)

// beat is the heartbeat of one group.
type beat struct {
	id   transport.GroupID
	term uint64
}

func appendBeats(list []beat) []byte {
	b := make([]byte, 0, beatSize*len(list))
	for _, h := range list {
		b = append(b, h.id[:]...)
		b = binary.BigEndian.AppendUint64(b, h.term)
	}
	return b
}

func parseBeats(b []byte) ([]beat, error) {
	if len(b)%beatSize != 0 {
		return nil, fmt.Errorf("%w: heartbeats of %d bytes", errMessage, len(b))
	}
	list := make([]beat, len(b)/beatSize)
	r := reader{b: b}
	for i := range list {
		copy(list[i].id[:], r.take(len(list[i].id)))
		list[i].term = r.u64()
	}
	return list, nil
}

// beatAnswer is what a group says to its heartbeat; nothing when it is not open there.
type beatAnswer struct {
	known bool
	resp  raft.AppendEntriesResponse
}

func appendBeatAnswers(list []beatAnswer) []byte {
	b := make([]byte, 0, beatAnswerSize*len(list))
	for i := range list {
		b = append(b, flags(list[i].known))
		b = append(b, appendEntriesResponse(&list[i].resp)...)
	}
	return b
}

func parseBeatAnswers(b []byte, want int) ([]beatAnswer, error) {
	if len(b) != want*beatAnswerSize {
		return nil, fmt.Errorf("%w: answers of %d bytes to %d heartbeats", errMessage, len(b), want)
	}
	list := make([]beatAnswer, want)
	for i := range list {
		one := b[i*beatAnswerSize:][:beatAnswerSize]
		list[i].known = one[0]&1 != 0
		if err := parseAppendEntriesResponse(one[1:], &list[i].resp); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func flags(bits ...bool) (f byte) {
	for i, set := range bits {
		if set {
			f |= 1 << i
		}
	}
	return f
}

// reader takes fields off the front; past the end it gives zeroes and remembers that.
type reader struct {
	b    []byte
	over bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.over, r.b = true, nil
		return nil
	}
	head := r.b[:n:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// end says whether everything was there and nothing is left.
func (r *reader) end(what string) error {
	if r.over || len(r.b) > 0 {
		return fmt.Errorf("%w: %s has the wrong size", errMessage, what)
	}
	return nil
}
