package api

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The hand-written answer of Fetch must be what kmsg writes for the same fields, in every version.
func TestFetchAnswerEqualsThatOfKmsg(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for version := int16(4); version <= 18; version++ {
		for range 50 {
			q, p, want := randomFetch(rnd, version)
			var got []byte
			for _, b := range encodeFetch(q, p) {
				got = append(got, b...)
			}
			if !bytes.Equal(got, want.AppendTo(nil)) {
				t.Fatalf("version %d:\n got %x\nwant %x", version, got, want.AppendTo(nil))
			}
		}
	}
}

func randomFetch(rnd *rand.Rand, version int16) (*kmsg.FetchRequest, *poll, *kmsg.FetchResponse) {
	q, p, want := kmsg.NewPtrFetchRequest(), &poll{}, kmsg.NewPtrFetchResponse()
	q.Version, want.Version = version, version
	q.IsolationLevel = int8(rnd.IntN(2))
	for range rnd.IntN(4) {
		qt, wt := kmsg.NewFetchRequestTopic(), kmsg.NewFetchResponseTopic()
		qt.Topic = string(bytes.Repeat([]byte("t"), rnd.IntN(300)))
		for i := range qt.TopicID {
			qt.TopicID[i] = byte(rnd.Uint32())
		}
		wt.Topic, wt.TopicID = qt.Topic, qt.TopicID
		for n := range int32(rnd.IntN(4)) {
			qp, wp := kmsg.NewFetchRequestTopicPartition(), kmsg.NewFetchResponseTopicPartition()
			part := polled{number: n, highWatermark: rnd.Int64(), logStart: rnd.Int64()}
			if rnd.IntN(3) == 0 {
				part.err = kerr.OffsetOutOfRange
			}
			var whole []byte
			for range rnd.IntN(3) {
				data := bytes.Repeat([]byte{7}, 1+rnd.IntN(400))
				part.data, part.bytes, whole = append(part.data, data), part.bytes+len(data), append(whole, data...)
			}
			qp.Partition, wp.Partition = n, n
			wp.ErrorCode, wp.HighWatermark, wp.LastStableOffset, wp.LogStartOffset = code(part.err), part.highWatermark, part.highWatermark, part.logStart
			wp.RecordBatches = append([]byte{}, whole...)
			if q.IsolationLevel == 1 {
				wp.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			}
			qt.Partitions, wt.Partitions, p.parts = append(qt.Partitions, qp), append(wt.Partitions, wp), append(p.parts, part)
		}
		q.Topics, want.Topics = append(q.Topics, qt), append(want.Topics, wt)
	}
	return q, p, want
}
