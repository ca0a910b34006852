package broker

import (
	"context"
	"errors"
	runtimemetrics "runtime/metrics"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// frozen is a cluster state that takes no changes, so that a fuzzer can't fill the memory by asking for topics.
type frozen struct{ *controller }

func (frozen) CreateTopic(context.Context, state.TopicSpec) (state.Topic, error) {
	return state.Topic{}, state.ErrExists
}
func (frozen) DeleteTopic(context.Context, string) error          { return state.ErrNotFound }
func (frozen) AddPartitions(context.Context, string, int32) error { return state.ErrNotFound }
func (frozen) SetTopicConfigs(context.Context, string, map[string]string) error {
	return state.ErrNotFound
}

func (frozen) CreateACLs(context.Context, []state.ACL) error { return state.ErrNotFound }
func (frozen) DeleteACLs(context.Context, []state.ACL) ([]state.ACL, error) {
	return nil, state.ErrNotFound
}
func (frozen) SetCredential(context.Context, string, string, state.Credential) error {
	return state.ErrNotFound
}
func (frozen) DeleteCredential(context.Context, string, string) error { return state.ErrNotFound }
func (frozen) AlterQuota(context.Context, state.QuotaEntity, map[string]float64, []string) error {
	return state.ErrNotFound
}

// FuzzRequest: whatever bytes are sent as the body of any request in any version, nothing panics, an answer or an error comes back, and
// what is allocated on the way is bounded by the size of the request.
func FuzzRequest(f *testing.F) {
	ctl := &controller{s: state.New()}
	ctl.apply(f.Context(), command.InitCluster{ClusterID: "fuzz"})
	ctl.CreateTopic(f.Context(), specOf("t", 2))
	cfg := Default()
	cfg.DataDir, cfg.Listeners = f.TempDir(), []Listener{Plaintext("127.0.0.1:0")}
	b, err := open(cfg, frozen{ctl}, memories{})
	if err != nil {
		f.Fatal(err)
	}
	b.reconcile(ctl.State())
	f.Cleanup(func() { b.Close() })
	h, err := api.New(api.Default(), backend{b}, b.groups, b.txns)
	if err != nil {
		f.Fatal(err)
	}
	batch := builtBatch(f)
	for key := range int16(kmsg.MaxKey + 1) {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for v := range req.MaxVersion() + 1 {
			req.SetVersion(v)
			f.Add(key, v, req.AppendTo(nil))
			for _, full := range fullRequests(batch) {
				if full.Key() == key {
					full.SetVersion(v)
					f.Add(key, v, full.AppendTo(nil))
				}
			}
		}
	}
	done, cancel := context.WithCancel(context.Background())
	cancel() // whatever would wait answers at once
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		const perByte, slack = 64, 4 << 20
		before := allocated()
		reply := h.Serve(done, &wire.Request{Key: key, Version: version, Body: body, Client: itself()})
		if reply.Wait != nil {
			var err error
			if reply.Body, err = reply.Wait(); err != nil && !reply.Silent {
				t.Fatalf("a request that was taken ended in %v", err)
			}
		}
		if used := allocated() - before; used > uint64(len(body)*perByte+slack) {
			t.Fatalf("%d bytes allocated for a request of %d", used, len(body))
		}
		if reply.Err == nil && len(reply.Body) == 0 && !reply.Silent {
			t.Fatal("neither answer nor error")
		}
		if errors.Is(reply.Err, context.Canceled) {
			t.Fatal("a closed connection is no reason to close it")
		}
	})
}

func allocated() uint64 {
	s := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtimemetrics.Read(s)
	return s[0].Value.Uint64()
}

// fullRequests have something in them for the fuzzer to change.
func fullRequests(batch []byte) []kmsg.Request {
	name := "t"
	produce := kmsg.NewPtrProduceRequest()
	pt, pp := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	pt.Topic, pp.Records, produce.Acks, produce.TimeoutMillis = name, batch, -1, 1000
	pt.Partitions = append(pt.Partitions, pp)
	produce.Topics = append(produce.Topics, pt)
	fetch := kmsg.NewPtrFetchRequest()
	ft, fp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	ft.Topic, fp.PartitionMaxBytes, fetch.MinBytes = name, 1000, 1
	ft.Partitions = append(ft.Partitions, fp)
	fetch.Topics = append(fetch.Topics, ft)
	list := kmsg.NewPtrListOffsetsRequest()
	lt, lp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	lt.Topic, lp.Timestamp = name, -1
	lt.Partitions = append(lt.Partitions, lp)
	list.Topics = append(list.Topics, lt)
	meta := kmsg.NewPtrMetadataRequest()
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = &name
	meta.Topics = append(meta.Topics, mt)
	create := kmsg.NewPtrCreateTopicsRequest()
	ct, cc := kmsg.NewCreateTopicsRequestTopic(), kmsg.NewCreateTopicsRequestTopicConfig()
	ct.Topic, ct.NumPartitions, ct.ReplicationFactor, cc.Name, cc.Value = "n", 1, 1, "retention.ms", &name
	ct.Configs = append(ct.Configs, cc)
	create.Topics = append(create.Topics, ct)
	join := kmsg.NewPtrJoinGroupRequest()
	jp := kmsg.NewJoinGroupRequestProtocol()
	join.Group, join.ProtocolType, jp.Name = "g", "consumer", "range"
	join.Protocols = append(join.Protocols, jp)
	commit := kmsg.NewPtrOffsetCommitRequest()
	ot, op := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	ot.Topic, commit.Group = name, "g"
	ot.Partitions = append(ot.Partitions, op)
	commit.Topics = append(commit.Topics, ot)
	return []kmsg.Request{produce, fetch, list, meta, create, join, commit}
}

func builtBatch(f *testing.F) []byte {
	f.Helper()
	b := record.NewBuilder(record.None)
	for _, r := range records("a", "b") {
		b.Append(r)
	}
	batch, err := b.Build()
	if err != nil {
		f.Fatal(err)
	}
	return batch
}
