package broker

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
)

// difference is one request whose error codes must be those that kfake answers, or ours with the reason.
type difference struct {
	name   string
	req    kmsg.Request
	ours   []int16 // what weir answers where it differs
	reason string
}

// TestErrorsAreThoseOfKfake sends the same requests to weir and to kfake, a test double of Kafka by the authors of franz-go.
func TestErrorsAreThoseOfKfake(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	weir := client(t, b)
	other, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []*kgo.Client{weir, other} { // both make their offsets topic and have one record in partition 0
		if err := c.ProduceSync(within(t), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		findCoordinator := kmsg.NewPtrFindCoordinatorRequest()
		findCoordinator.CoordinatorKeys = []string{"g"}
		if _, err := c.SeedBrokers()[0].Request(within(t), findCoordinator); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range differences(t) {
		t.Run(d.name, func(t *testing.T) {
			got, want := codes(t, weir, d.req), codes(t, other, d.req)
			if d.reason != "" {
				if slices.Equal(got, want) {
					t.Errorf("both answer %v: it is no difference any more", got)
				}
				want = d.ours
			}
			if !slices.Equal(got, want) {
				t.Errorf("error codes %v, want %v", got, want)
			}
		})
	}
}

// codes sends req to one broker and collects the error codes of the answer in their order.
func codes(t *testing.T, c *kgo.Client, req kmsg.Request) []int16 {
	t.Helper()
	resp, err := c.SeedBrokers()[0].Request(within(t), req)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	var found []int16
	collect(reflect.ValueOf(resp), &found)
	return found
}

func collect(v reflect.Value, into *[]int16) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			collect(v.Elem(), into)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				collect(v.Index(i), into)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "ErrorCode" {
				*into = append(*into, int16(v.Field(i).Int()))
			} else if v.Type().Field(i).IsExported() {
				collect(v.Field(i), into)
			}
		}
	}
}

func differences(t *testing.T) []difference {
	t.Helper()
	var list []difference
	add := func(name string, req kmsg.Request) { list = append(list, difference{name: name, req: req}) }
	differs := func(name string, req kmsg.Request, reason string, ours ...int16) {
		list = append(list, difference{name: name, req: req, reason: reason, ours: ours})
	}

	add("metadata of an unknown topic", metadataOf("nosuch"))
	differs("metadata of a bad name", metadataOf("bad/name"), "kfake does not look at names, Kafka does", 17, 0)
	add("metadata of a topic", metadataOf("t"))

	add("create what exists", createOf(kmsg.CreateTopicsRequestTopic{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}))
	differs("create a bad name", createOf(kmsg.CreateTopicsRequestTopic{Topic: "bad/name", NumPartitions: 1, ReplicationFactor: 1}),
		"kfake does not look at names, Kafka does", 17)
	add("create no partitions", createOf(kmsg.CreateTopicsRequestTopic{Topic: "n", NumPartitions: 0, ReplicationFactor: 1}))
	add("create too many copies", createOf(kmsg.CreateTopicsRequestTopic{Topic: "n", NumPartitions: 1, ReplicationFactor: 3}))
	differs("create no copies", createOf(kmsg.CreateTopicsRequestTopic{Topic: "m", NumPartitions: 1, ReplicationFactor: 0}),
		"Kafka says INVALID_REPLICATION_FACTOR", 38)
	twice := kmsg.CreateTopicsRequestTopic{Topic: "n", NumPartitions: 1, ReplicationFactor: 1}
	add("create the same twice", createOf(twice, twice))

	add("delete an unknown topic", deleteOf("nosuch"))
	add("delete an unknown id", deleteID([16]byte{9}))
	add("partitions of an unknown topic", partitionsOf("nosuch", 4))
	add("fewer partitions", partitionsOf("t", 1))
	differs("as many partitions", partitionsOf("t", 2), "Kafka says INVALID_PARTITIONS", 37)

	for _, timestamp := range []int64{-1, -2, -3, 0, 1 << 60} {
		add(fmt.Sprint("list offsets at ", timestamp), listOf("t", 0, timestamp, -1))
	}
	add("list offsets of an unknown topic", listOf("nosuch", 0, -1, -1))
	add("list offsets of an unknown partition", listOf("t", 7, -1, -1))
	add("list offsets of a future epoch", listOf("t", 0, -1, 1000))

	add("fetch beyond the end", fetchOf("t", 0, 100, -1))
	add("fetch before the start", fetchOf("t", 0, -5, -1))
	add("fetch an unknown partition", fetchOf("t", 7, 0, -1))
	add("fetch of a future epoch", fetchOf("t", 0, 0, 1000))

	add("produce to an unknown partition", produceOf(1, "t", 7, batchOf(t)))
	add("produce with acks=5", produceOf(5, "t", 0, batchOf(t)))
	add("produce a flipped bit", produceOf(1, "t", 0, changed(batchOf(t), 65)))
	add("produce what follows", produceOf(1, "t", 0, batchOf(t)))

	add("epoch of an unknown topic", epochOf("nosuch", 0, -1, 0))
	add("epoch of an unknown partition", epochOf("t", 7, -1, 0))
	add("epoch asked with a future one", epochOf("t", 0, 1000, 0))

	add("delete records of an unknown topic", deleteRecordsOf("nosuch", 0, 0))
	add("delete records beyond the end", deleteRecordsOf("t", 0, 100))
	add("delete records before the start", deleteRecordsOf("t", 0, -5))

	add("configs of an unknown topic", configsOf(kmsg.ConfigResourceTypeTopic, "nosuch"))
	add("configs of a topic", configsOf(kmsg.ConfigResourceTypeTopic, "t"))
	add("configs of another broker", configsOf(kmsg.ConfigResourceTypeBroker, "77"))
	add("change configs of an unknown topic", alterOf("nosuch", "retention.ms", "1"))
	differs("change an unknown config", alterOf("t", "no.such", "1"), "kfake takes any setting", 40)
	differs("change a config to nonsense", alterOf("t", "retention.ms", "soon"), "kfake takes any value", 40)

	initID := kmsg.NewPtrInitProducerIDRequest()
	initID.TransactionalID = kmsg.StringPtr("")
	add("producer id for an empty transactional id", initID)
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Group, heartbeat.MemberID, heartbeat.Generation = "g", "nobody", 3
	differs("heartbeat of a stranger", heartbeat, "a classic group that does not exist knows no member in Kafka", 25)
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis = "g", "consumer", 1
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	add("join with a session of 1 ms", join)
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"nosuch"}
	add("describe an unknown group", describe)
	deleteGroups := kmsg.NewPtrDeleteGroupsRequest()
	deleteGroups.Groups = []string{"nosuch"}
	add("delete an unknown group", deleteGroups)
	return list
}

func metadataOf(name string) *kmsg.MetadataRequest {
	q := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	q.Topics = append(q.Topics, t)
	return q
}

func createOf(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	q := kmsg.NewPtrCreateTopicsRequest()
	q.Topics = topics
	return q
}

func deleteOf(name string) *kmsg.DeleteTopicsRequest {
	q := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &name
	q.Topics = append(q.Topics, t)
	return q
}

func deleteID(id [16]byte) *kmsg.DeleteTopicsRequest {
	q := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.TopicID = id
	q.Topics = append(q.Topics, t)
	return q
}

func partitionsOf(name string, count int32) *kmsg.CreatePartitionsRequest {
	q := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	q.Topics = append(q.Topics, t)
	return q
}

func listOf(topic string, partition int32, timestamp int64, epoch int32) *kmsg.ListOffsetsRequest {
	q := kmsg.NewPtrListOffsetsRequest()
	t, p := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	t.Topic, p.Partition, p.Timestamp, p.CurrentLeaderEpoch = topic, partition, timestamp, epoch
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

// fetchOf is a fetch by name; version 12 is the last that has names.
func fetchOf(topic string, partition int32, offset int64, epoch int32) kmsg.Request {
	q := kmsg.NewPtrFetchRequest()
	t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	t.Topic, p.Partition, p.FetchOffset, p.CurrentLeaderEpoch, p.PartitionMaxBytes = topic, partition, offset, epoch, 1000
	q.MaxWaitMillis = 10
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return pinned{q, 12}
}

func produceOf(acks int16, topic string, partition int32, batch []byte) kmsg.Request {
	q := kmsg.NewPtrProduceRequest()
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	t.Topic, p.Partition, p.Records = topic, partition, batch
	q.Acks, q.TimeoutMillis = acks, 5000
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return pinned{q, 9}
}

// pinned keeps a request from being sent in a later version than the one it was made for.
type pinned struct {
	kmsg.Request
	version int16
}

func (p pinned) MaxVersion() int16 { return p.version }

func batchOf(t *testing.T, list ...record.Record) []byte {
	t.Helper()
	if len(list) == 0 {
		list = records("one", "two")
	}
	b := record.NewBuilder(record.None)
	for _, r := range list {
		b.Append(r)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func changed(b []byte, at int) []byte {
	b[at] ^= 1
	return b
}

func epochOf(topic string, partition, current, asked int32) *kmsg.OffsetForLeaderEpochRequest {
	q := kmsg.NewPtrOffsetForLeaderEpochRequest()
	t, p := kmsg.NewOffsetForLeaderEpochRequestTopic(), kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	t.Topic, p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = topic, partition, current, asked
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

func deleteRecordsOf(topic string, partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	q := kmsg.NewPtrDeleteRecordsRequest()
	t, p := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	t.Topic, p.Partition, p.Offset = topic, partition, offset
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

func configsOf(kind kmsg.ConfigResourceType, name string) *kmsg.DescribeConfigsRequest {
	q := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	q.Resources = append(q.Resources, r)
	return q
}

func alterOf(topic, key, value string) *kmsg.IncrementalAlterConfigsRequest {
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r, c := kmsg.NewIncrementalAlterConfigsRequestResource(), kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	r.ResourceType, r.ResourceName, c.Name, c.Value = kmsg.ConfigResourceTypeTopic, topic, key, &value
	r.Configs = append(r.Configs, c)
	q.Resources = append(q.Resources, r)
	return q
}
