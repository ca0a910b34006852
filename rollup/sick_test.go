package rollup

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOnePartitionThatFailsLeavesTheOthersCounted: the log cannot say where one partition of events ends.
func TestOnePartitionThatFailsLeavesTheOthersCounted(t *testing.T) {
	t.Parallel()
	log := newFakeLog(t)
	log.fake.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
		log.fake.KeepControl()
		list := req.(*kmsg.ListOffsetsRequest)
		if len(list.Topics) != 1 || list.Topics[0].Topic != TopicEvents {
			return nil, nil, false
		}
		resp := list.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = TopicEvents
		for _, p := range list.Topics[0].Partitions {
			part := kmsg.NewListOffsetsResponseTopicPartition()
			part.Partition = p.Partition
			switch {
			case p.Partition == 5:
				part.ErrorCode = kerr.UnknownServerError.Code
			case p.Timestamp == -2:
				part.Offset = 0
			default:
				part.Offset = 1 << 40
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	b := newBench(t, log)
	b.start()
	b.send(traffic(13, time.Hour), 1000)
	delete(b.ends, 5)
	b.settle()
	ready, reason := b.room.Ready()
	if ready || !strings.Contains(reason, "partition 5") {
		t.Errorf("ready: %v, reason %q; want partition 5 named", ready, reason)
	}
}
