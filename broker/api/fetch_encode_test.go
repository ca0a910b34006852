package api

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/replica"
)

// The hand-written answer of Fetch must be what kmsg writes for the same fields, in every version.
func TestFetchAnswerEqualsThatOfKmsg(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for version := int16(4); version <= 18; version++ {
		for range 50 {
			q, parts, want := randomFetch(rnd, version)
			var got []byte
			for _, b := range encodeFetch(q, want.SessionID, parts) {
				got = append(got, b...)
			}
			if !bytes.Equal(got, want.AppendTo(nil)) {
				t.Fatalf("version %d:\n got %x\nwant %x", version, got, want.AppendTo(nil))
			}
		}
	}
}

func randomFetch(rnd *rand.Rand, version int16) (*kmsg.FetchRequest, []polled, *kmsg.FetchResponse) {
	q, want := kmsg.NewPtrFetchRequest(), kmsg.NewPtrFetchResponse()
	var parts []polled
	q.Version, want.Version = version, version
	q.IsolationLevel = int8(rnd.IntN(2))
	if version >= 7 {
		want.SessionID = rnd.Int32()
	}
	for range rnd.IntN(4) {
		wt := kmsg.NewFetchResponseTopic()
		wt.Topic = string(bytes.Repeat([]byte("t"), rnd.IntN(300)))
		for i := range wt.TopicID {
			wt.TopicID[i] = byte(rnd.Uint32())
		}
		for n := range 1 + rnd.Int32N(4) {
			wp := kmsg.NewFetchResponseTopicPartition()
			part := polled{key: keyOf(version, wt.Topic, wt.TopicID, n), highWatermark: rnd.Int64(), lastStable: rnd.Int64(), logStart: rnd.Int64()}
			if rnd.IntN(3) == 0 {
				part.err = kerr.OffsetOutOfRange
			}
			var whole []byte
			for range rnd.IntN(3) {
				data := bytes.Repeat([]byte{7}, 1+rnd.IntN(400))
				part.data, part.bytes, whole = append(part.data, data), part.bytes+len(data), append(whole, data...)
			}
			wp.Partition = n
			wp.ErrorCode, wp.HighWatermark, wp.LastStableOffset, wp.LogStartOffset = code(part.err), part.highWatermark, part.lastStable, part.logStart
			wp.RecordBatches = append([]byte{}, whole...)
			if q.IsolationLevel == 1 {
				wp.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
				for range rnd.IntN(3) {
					a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
					a.ProducerID, a.FirstOffset = rnd.Int64(), rnd.Int64()
					wp.AbortedTransactions = append(wp.AbortedTransactions, a)
					part.aborted = append(part.aborted, replica.Aborted{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
				}
			}
			wt.Partitions, parts = append(wt.Partitions, wp), append(parts, part)
			if rnd.IntN(3) == 0 {
				part.unchanged = true
				parts = append(parts, part)
			}
		}
		want.Topics = append(want.Topics, wt)
	}
	return q, parts, want
}
