package peer

import (
	"bufio"
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

func joined(pieces [][]byte) []byte { return bytes.Join(pieces, nil) }

func TestMessagesComeOutAsTheyWentIn(t *testing.T) {
	q := &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 8, PrevLogTerm: 6, LeaderCommitIndex: 5, Entries: []*raft.Log{
		{Index: 9, Term: 7, Type: raft.LogCommand, Data: []byte("batch"), AppendedAt: time.Unix(3, 4)},
		{Index: 10, Term: 7, Type: raft.LogNoop},
		{Index: 11, Term: 7, Type: raft.LogCommand, Data: []byte("command"), Extensions: []byte{1}},
	}}
	got, err := parseAppendEntries(joined(appendEntriesRequest(q)))
	if err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("entries: got %+v, %v", got, err)
	}
	var r raft.AppendEntriesResponse
	if err := parseAppendEntriesResponse(appendEntriesResponse(&raft.AppendEntriesResponse{Term: 1, LastLog: 2, NoRetryBackoff: true}), &r); err != nil || r.Term != 1 || r.LastLog != 2 || r.Success || !r.NoRetryBackoff {
		t.Errorf("answer: got %+v, %v", r, err)
	}
	if v, err := parseVote(voteRequest(&raft.RequestVoteRequest{Term: 1, LastLogIndex: 2, LastLogTerm: 3, LeadershipTransfer: true})); err != nil || v.Term != 1 || v.LastLogIndex != 2 || v.LastLogTerm != 3 || !v.LeadershipTransfer {
		t.Errorf("vote: got %+v, %v", v, err)
	}
	if v, err := parsePreVote(preVoteRequest(&raft.RequestPreVoteRequest{Term: 1, LastLogIndex: 2, LastLogTerm: 3})); err != nil || v.LastLogTerm != 3 {
		t.Errorf("vote ahead: got %+v, %v", v, err)
	}
	id, s, err := parseSnapshot(snapshotRequest(transport.GroupID{4}, &raft.InstallSnapshotRequest{SnapshotVersion: 1, Term: 2, LastLogIndex: 3, LastLogTerm: 4, ConfigurationIndex: 5, Size: 6, Configuration: []byte("c")}))
	if err != nil || id != (transport.GroupID{4}) || s.Size != 6 || s.ConfigurationIndex != 5 || string(s.Configuration) != "c" {
		t.Errorf("snapshot: got %x %+v, %v", id, s, err)
	}
	beats, err := parseBeats(appendBeats([]beat{{transport.GroupID{1}, 2}, {transport.GroupID{3}, 4}}))
	if err != nil || len(beats) != 2 || beats[1] != (beat{transport.GroupID{3}, 4}) {
		t.Errorf("heartbeats: got %v, %v", beats, err)
	}
}

// Whatever comes, parsing does not panic, and what was taken is written again as it was.
func FuzzMessages(f *testing.F) {
	f.Add(uint8(kindAppend), joined(appendEntriesRequest(&raft.AppendEntriesRequest{Term: 1, Entries: []*raft.Log{{Index: 2, Term: 1, Data: []byte("d"), Extensions: []byte{2}}}})))
	f.Add(uint8(kindVote), voteRequest(&raft.RequestVoteRequest{Term: 1}))
	f.Add(uint8(kindPreVote), preVoteRequest(&raft.RequestPreVoteRequest{Term: 1}))
	f.Add(uint8(kindHeartbeats), appendBeats([]beat{{transport.GroupID{1}, 2}}))
	f.Add(uint8(kindCall), snapshotRequest(transport.GroupID{1}, &raft.InstallSnapshotRequest{Size: 1}))
	f.Fuzz(func(t *testing.T, k uint8, b []byte) {
		var again []byte
		switch kind(k) {
		case kindAppend:
			q, err := parseAppendEntries(b)
			if err != nil {
				return
			}
			again = joined(appendEntriesRequest(q))
		case kindHeartbeats:
			q, err := parseBeats(b)
			if err != nil {
				return
			}
			again = appendBeats(q)
		case kindCall:
			id, q, err := parseSnapshot(b)
			if err != nil {
				return
			}
			again = snapshotRequest(id, q)
		case kindPreVote:
			q, err := parsePreVote(b)
			if err != nil {
				return
			}
			again = preVoteRequest(q)
		default:
			_, _ = parseVote(b)
			_, _ = parseBeatAnswers(b, len(b)/beatAnswerSize)
			_, _, _ = parseGranted(b)
			return
		}
		if !bytes.Equal(again, b) {
			t.Errorf("kind %d: %x became %x", k, b, again)
		}
	})
}

// A frame of any bytes is read or refused, with no more memory than twice what has come, and one step.
func FuzzFrames(f *testing.F) {
	f.Add(append(appendFrameHead(nil, kindVote, 3, transport.GroupID{1}, 4), "body"...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readFrame(bufio.NewReader(bytes.NewReader(b)), func(int) error { return nil })
		if err != nil {
			return
		}
		again := append(appendFrameHead(nil, got.kind, got.number, got.group, len(got.body)), got.body...)
		if !bytes.HasPrefix(b, again) || cap(got.body) > 2*len(b)+readStep {
			t.Errorf("%x was read as %+v", b, got)
		}
		_, _ = readHello(bytes.NewReader(b))
	})
}

func TestARequestIsCutByBytes(t *testing.T) {
	big := make([]byte, appendBytes/2)
	for _, c := range []struct {
		name string
		in   []int // sizes
		want int
	}{
		{"all fit", []int{10, 10}, 2},
		{"the third does not", []int{len(big), len(big), 1}, 2},
		{"one alone always goes", []int{appendBytes + 1, 1}, 1},
	} {
		q := &raft.AppendEntriesRequest{}
		for _, n := range c.in {
			q.Entries = append(q.Entries, &raft.Log{Data: make([]byte, n)})
		}
		if cut(q); len(q.Entries) != c.want {
			t.Errorf("%s: got %d entries, want %d", c.name, len(q.Entries), c.want)
		}
	}
}
