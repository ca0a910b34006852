package broker

import (
	"bytes"
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/wire"
)

func handler(t *testing.T, b *Broker) *api.Handler {
	t.Helper()
	h, err := api.New(api.Default(), backend{b}, b.groups, b.txns)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends req to the handler and decodes the answer in the same version.
func ask(t *testing.T, h *api.Handler, req kmsg.Request) kmsg.Response {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what would wait answers at once
	reply := h.Serve(ctx, &wire.Request{Key: req.Key(), Version: req.GetVersion(), Body: req.AppendTo(nil), Client: itself()})
	if reply.Wait != nil {
		reply.Body, reply.Err = reply.Wait()
	}
	if reply.Err != nil {
		t.Fatalf("%s version %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), reply.Err)
	}
	body := bytes.Join(reply.Body, nil)
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%s version %d: decode answer: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		t.Fatalf("%s version %d: answer %x decodes to %x", kmsg.NameForKey(req.Key()), req.GetVersion(), body, again)
	}
	return resp
}

func advertised(t *testing.T, h *api.Handler) map[int16][2]int16 {
	t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	ranges := make(map[int16][2]int16)
	for _, k := range ask(t, h, req).(*kmsg.ApiVersionsResponse).ApiKeys {
		ranges[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	return ranges
}

func TestEveryAdvertisedVersionAnswersInItsOwnLayout(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	h := handler(t, b)
	batch := batchOf(t)
	for key, versions := range advertised(t, h) {
		for v := versions[0]; v <= versions[1]; v++ {
			req := kmsg.RequestForKey(key)
			req.SetVersion(v)
			if p, ok := req.(*kmsg.ProduceRequest); ok {
				p.Acks = 1 // 0, the default, asks for no answer
			}
			ask(t, h, req)
			for _, full := range fullRequests(bytes.Clone(batch)) {
				if full.Key() == key {
					full.SetVersion(v)
					ask(t, h, full)
				}
			}
		}
	}
}

// Old librdkafka looks for these single versions before it uses a feature: compression, message format, groups, offsets.
func TestAdvertisedRangesHoldWhatOldClientsLookFor(t *testing.T) {
	b, _ := start(t, nil)
	ranges := advertised(t, handler(t, b))
	for key, versions := range map[kmsg.Key][]int16{
		kmsg.Produce: {2, 3, 7}, kmsg.Fetch: {4, 10}, kmsg.JoinGroup: {0}, kmsg.FindCoordinator: {0}, kmsg.OffsetCommit: {1, 2}, kmsg.OffsetFetch: {1},
		kmsg.OffsetForLeaderEpoch: {2}, kmsg.CreateTopics: {0, 2}, kmsg.DeleteTopics: {0, 1}, kmsg.Metadata: {0, 1, 6}, kmsg.ListOffsets: {1},
		kmsg.ListGroups: {1}, kmsg.Heartbeat: {0}, kmsg.LeaveGroup: {0}, kmsg.SyncGroup: {0}, kmsg.ApiVersions: {0, 3},
		kmsg.AddPartitionsToTxn: {0, 3}, kmsg.AddOffsetsToTxn: {0}, kmsg.EndTxn: {1, 5}, kmsg.TxnOffsetCommit: {3},
	} {
		for _, v := range versions {
			if r, ok := ranges[int16(key)]; !ok || v < r[0] || v > r[1] {
				t.Errorf("%s version %d is not in %v", key.Name(), v, r)
			}
		}
	}
	for _, key := range []kmsg.Key{kmsg.LeaderAndISR, kmsg.ConsumerGroupHeartbeat, kmsg.GetTelemetrySubscriptions} {
		if r, ok := ranges[int16(key)]; ok {
			t.Errorf("%s %v is advertised", key.Name(), r)
		}
	}
}

func TestApiVersionsOfAVersionWeDoNotKnow(t *testing.T) {
	b, _ := start(t, nil)
	h := handler(t, b)
	reply := h.Serve(t.Context(), &wire.Request{Key: 18, Version: 99, Body: []byte{0xff, 0xff}, Client: itself()})
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := resp.ReadFrom(bytes.Join(reply.Body, nil)); err != nil { // version 0
		t.Fatal(err)
	}
	if resp.ErrorCode != kerr.UnsupportedVersion.Code || len(resp.ApiKeys) == 0 || !reply.PlainHeader {
		t.Errorf("%+v", resp)
	}
	bad := kmsg.NewPtrApiVersionsRequest()
	bad.Version, bad.ClientSoftwareName, bad.ClientSoftwareVersion = 3, "no spaces please", "1"
	if got := ask(t, h, bad).(*kmsg.ApiVersionsResponse).ErrorCode; got != kerr.InvalidRequest.Code {
		t.Errorf("bad software name: error code %d", got)
	}
}

func TestWhatWasNeverAdvertisedClosesTheConnection(t *testing.T) {
	b, _ := start(t, nil)
	h := handler(t, b)
	for _, req := range []wire.Request{{Key: 4}, {Key: 26}, {Key: 999}, {Key: 1, Version: 3}, {Key: 3, Version: 50}, {Key: 3, Version: 1, Body: []byte{9}}} {
		req.Client = itself()
		if reply := h.Serve(t.Context(), &req); reply.Err == nil {
			t.Errorf("key %d version %d is answered", req.Key, req.Version)
		}
	}
}

func TestProduceBeforeVersion3IsRefusedInItsOwnLayout(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	h := handler(t, b)
	for v := range int16(3) {
		req := produceOf(1, "t", 0, batchOf(t)).(pinned).Request
		req.SetVersion(v)
		got := ask(t, h, req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode != kerr.UnsupportedVersion.Code {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

func TestMetadataOfAllSomeAndNone(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "a", 1)
	createTopic(t, b, "b", 2)
	h := handler(t, b)
	meta := func(version int16, topics []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.Topics = version, topics
		return ask(t, h, req).(*kmsg.MetadataResponse).Topics
	}
	for version := range int16(14) {
		if got := meta(version, nil); len(got) != 2 {
			t.Errorf("version %d, null: %d topics, want all", version, len(got))
		}
		if got := meta(version, []kmsg.MetadataRequestTopic{}); version > 0 && len(got) != 0 {
			t.Errorf("version %d, none: %d topics", version, len(got))
		}
	}
	all := meta(13, nil)
	byID := meta(13, []kmsg.MetadataRequestTopic{{TopicID: all[1].TopicID}, {TopicID: [16]byte{7}}})
	if len(byID) != 2 || *byID[0].Topic != "b" || len(byID[0].Partitions) != 2 || byID[1].ErrorCode != kerr.UnknownTopicID.Code {
		t.Errorf("by id: %+v", byID)
	}
	if p := byID[0].Partitions[0]; p.Leader != 1 || p.LeaderEpoch < 1 || p.ErrorCode != 0 {
		t.Errorf("partition %+v", p)
	}
}

func TestTopicsAreMadeByMetadataOnlyWhenThatIsAskedFor(t *testing.T) {
	for _, on := range []bool{false, true} {
		b, _ := start(t, nil)
		cfg := api.Default()
		cfg.AutoCreateTopics = on
		h, err := api.New(cfg, backend{b}, b.groups, b.txns)
		if err != nil {
			t.Fatal(err)
		}
		req := metadataOf("made")
		req.Version, req.AllowAutoTopicCreation = 4, true
		reply := h.Serve(t.Context(), &wire.Request{Key: 3, Version: 4, Body: req.AppendTo(nil), Client: itself()})
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = 4
		if err := resp.ReadFrom(bytes.Join(reply.Body, nil)); err != nil {
			t.Fatal(err)
		}
		got := len(resp.Topics[0].Partitions)
		if want := map[bool]int{true: 1, false: 0}[on]; got != want {
			t.Errorf("automatic topics %v: %d partitions", on, got)
		}
	}
}
