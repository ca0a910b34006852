package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
)

// just is a request that needs nothing of earlier answers.
func just(req kmsg.Request) func(*talk) kmsg.Request { return func(*talk) kmsg.Request { return req } }

func at(version int16, req kmsg.Request) func(*talk) kmsg.Request { return just(pinned{req, version}) }

// idempotent is a batch of one record of an idempotent producer.
func idempotent(t *testing.T, k *talk, sequence int32, transactional bool) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.SetProducer(k.producerID, k.epoch, sequence)
	if transactional {
		b.SetTransactional()
	}
	b.Append(record.Record{Key: []byte("k"), Value: []byte("v"), TimestampMs: 1_700_000_000_000})
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func fieldScript(t *testing.T) []line {
	group := func(k *talk) *kmsg.JoinGroupRequest {
		q := kmsg.NewPtrJoinGroupRequest()
		q.Group, q.ProtocolType, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.MemberID = "g", "consumer", 30000, 1000, k.member
		q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
		return q
	}
	list := topicLines()
	list = append(list, recordLines(t)...)
	list = append(list, groupLines(group)...)
	list = append(list, transactionLines(t)...)
	return append(list, settingLines()...)
}

var allSettings = map[string]string{".Topics[0].Configs": "Kafka lists all settings, kfake those that were given"}

func topicLines() []line {
	compact := "compact"
	configured := kmsg.CreateTopicsRequestTopic{Topic: "keyed", NumPartitions: 1, ReplicationFactor: 1, Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "cleanup.policy", Value: &compact}}}
	validate := createOf(kmsg.CreateTopicsRequestTopic{Topic: "not made", NumPartitions: 1, ReplicationFactor: 1})
	validate.Topics[0].Topic, validate.ValidateOnly = "notmade", true
	id := func(k *talk, r kmsg.Response) { k.topicID = r.(*kmsg.CreateTopicsResponse).Topics[0].TopicID }
	return []line{
		{name: "create a topic", ask: at(7, createOf(kmsg.CreateTopicsRequestTopic{Topic: "t", NumPartitions: 2, ReplicationFactor: 1})), took: id, but: allSettings},
		{name: "create a compacted topic", ask: at(7, createOf(configured)), but: allSettings},
		{name: "create it again", ask: at(7, createOf(configured))},
		{name: "only validate", ask: at(7, validate), but: allSettings},
		{name: "metadata of a topic", ask: at(12, metadataOf("t"))},
		{name: "metadata of what was validated", ask: at(12, metadataOf("notmade"))},
		{name: "metadata of nothing", ask: at(12, &kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{}})},
		{name: "more partitions", ask: just(partitionsOf("keyed", 3))},
		{name: "metadata afterwards", ask: at(9, metadataOf("keyed"))},
		{name: "cluster", ask: just(kmsg.NewPtrDescribeClusterRequest())},
	}
}

func recordLines(t *testing.T) []line {
	initID := kmsg.NewPtrInitProducerIDRequest()
	took := func(k *talk, r kmsg.Response) {
		k.producerID, k.epoch = r.(*kmsg.InitProducerIDResponse).ProducerID, r.(*kmsg.InitProducerIDResponse).ProducerEpoch
	}
	send := func(sequence int32) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request { return produceOf(-1, "t", 0, idempotent(t, k, sequence, false)) }
	}
	byID := func(version int16) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request {
			q := fetchOf("t", 0, 0, -1).(pinned).Request.(*kmsg.FetchRequest)
			q.Topics[0].Topic, q.Topics[0].TopicID, q.SessionEpoch = "", k.topicID, -1
			return pinned{q, version}
		}
	}
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0, 9}}}
	return []line{
		{name: "a producer id", ask: just(initID), took: took},
		{name: "first batch", ask: send(0)},
		{name: "second batch", ask: send(1)},
		{name: "second batch again", ask: send(1), but: map[string]string{".Topics[0].Partitions[0].LogStartOffset": "Kafka says where the log starts, kfake -1"}},
		{name: "a gap", ask: send(9), but: noOffset},
		{name: "plain records", ask: just(produceOf(1, "t", 1, batchOf(t)))},
		{name: "end of a partition", ask: just(listOf("t", 0, -1, -1))},
		{name: "start of a partition", ask: just(listOf("t", 0, -2, -1))},
		{name: "newest record", ask: just(listOf("t", 0, -3, -1))},
		{name: "by time", ask: just(listOf("t", 0, 1_600_000_000_000, -1))},
		{name: "fetch by name", ask: just(fetchOf("t", 0, 0, -1))},
		{name: "fetch by id", ask: byID(13)},
		{name: "fetch by id, version 17", ask: byID(17)},
		{name: "epoch ends", ask: just(epochOf("t", 0, -1, 1<<30))},
		{name: "producers of a partition", ask: just(producers), but: map[string]string{".Topics[0].Partitions[0].ActiveProducers": "kfake lists those in transactions alone"}},
		{name: "delete a record", ask: just(deleteRecordsOf("t", 0, 1))},
		{name: "start afterwards", ask: just(listOf("t", 0, -2, -1))},
		{name: "fetch what is deleted", ask: just(fetchOf("t", 0, 0, -1)), but: map[string]string{
			".Topics[0].Partitions[0].HighWatermark": "Kafka says -1 with an error", ".Topics[0].Partitions[0].LastStableOffset": "Kafka says -1 with an error"}},
		{name: "log directories", ask: just(dirs)},
	}
}

var noOffset = map[string]string{".Topics[0].Partitions[0].BaseOffset": "nothing was written: Kafka says -1, kfake 0"}

var oneNode = map[string]string{".NodeID": "the field of older versions, on no wire here"}

func groupLines(group func(*talk) *kmsg.JoinGroupRequest) []line {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{"g", "nosuch", "h"}
	joined := func(k *talk, r kmsg.Response) {
		k.member, k.generation = r.(*kmsg.JoinGroupResponse).MemberID, r.(*kmsg.JoinGroupResponse).Generation
	}
	join := func(k *talk) kmsg.Request { return pinned{group(k), 9} }
	sync := func(k *talk) kmsg.Request {
		q := kmsg.NewPtrSyncGroupRequest()
		proto, kind := "range", "consumer"
		q.Group, q.MemberID, q.Generation, q.Protocol, q.ProtocolType = "g", k.member, k.generation, &proto, &kind
		q.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: k.member, MemberAssignment: []byte{1, 2, 3}}}
		return q
	}
	beat := func(generation int32) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request {
			q := kmsg.NewPtrHeartbeatRequest()
			q.Group, q.MemberID, q.Generation = "g", k.member, k.generation+generation
			return q
		}
	}
	commit := func(generation int32, topic string) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request {
			q := kmsg.NewPtrOffsetCommitRequest()
			q.Group, q.MemberID, q.Generation = "g", k.member, k.generation+generation
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Offset, p.Metadata = 1, kmsg.StringPtr("note")
			q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
			return pinned{q, 9}
		}
	}
	fetch := func(group string) kmsg.Request {
		q := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.Topics = group, []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0, 1}}}
		q.Groups = []kmsg.OffsetFetchRequestGroup{g}
		return pinned{q, 9}
	}
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"g"}
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g"}
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group, forget.Topics = "g", []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}, {Partition: 1}}}}
	leave := func(k *talk) kmsg.Request {
		q := kmsg.NewPtrLeaveGroupRequest()
		q.Group, q.Members = "g", []kmsg.LeaveGroupRequestMember{{MemberID: k.member}, {MemberID: "a stranger"}}
		return pinned{q, 5}
	}
	listGroups := kmsg.NewPtrListGroupsRequest()
	listGroups.StatesFilter = []string{"Stable"}
	return []line{
		{name: "find the coordinator", ask: just(find), but: oneNode},
		{name: "join without an id", ask: join, took: joined},
		{name: "join with the id", ask: join, took: joined},
		{name: "heartbeat before the sync", ask: beat(0)},
		{name: "sync", ask: sync},
		{name: "heartbeat", ask: beat(0)},
		{name: "heartbeat of another generation", ask: beat(7)},
		{name: "commit", ask: commit(0, "t")},
		{name: "commit of another generation", ask: commit(7, "t")},
		{name: "commit for an unknown topic", ask: commit(0, "nosuch")},
		{name: "offsets", ask: just(fetch("g")), but: map[string]string{".Groups[0].Topics[0].Partitions[1].Metadata": "Kafka says empty where there is no offset"}},
		{name: "offsets of an unknown group", ask: just(fetch("nosuch")), but: map[string]string{
			".Groups[0].ErrorCode": "Kafka says offset -1 for each, to who is no member", ".Groups[0].Topics": "as before"}},
		{name: "describe", ask: just(describe)},
		{name: "list", ask: just(listGroups)},
		{name: "delete a group with a member", ask: just(remove)},
		{name: "delete its offsets", ask: just(forget)},
		{name: "leave", ask: leave},
		{name: "heartbeat after that", ask: beat(0)},
		{name: "describe the empty group", ask: just(describe)},
		{name: "delete the empty group", ask: just(remove)},
		{name: "describe the dead group", ask: just(describe)},
	}
}

func transactionLines(t *testing.T) []line {
	id := "x"
	initID := func(k *talk) kmsg.Request {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.TransactionalID, q.TransactionTimeoutMillis = &id, 60000
		return pinned{q, 4}
	}
	took := func(k *talk, r kmsg.Response) {
		k.producerID, k.epoch = r.(*kmsg.InitProducerIDResponse).ProducerID, r.(*kmsg.InitProducerIDResponse).ProducerEpoch
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKeys = 1, []string{id, "nosuch"}
	add := func(topic string, epoch int16) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request {
			q := kmsg.NewPtrAddPartitionsToTxnRequest()
			q.TransactionalID, q.ProducerID, q.ProducerEpoch = id, k.producerID, k.epoch+epoch
			q.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}
			return pinned{q, 3}
		}
	}
	addOffsets := func(k *talk) kmsg.Request {
		q := kmsg.NewPtrAddOffsetsToTxnRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group = id, k.producerID, k.epoch, "h"
		return pinned{q, 3}
	}
	commit := func(k *talk) kmsg.Request {
		q := kmsg.NewPtrTxnOffsetCommitRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group, q.Generation = id, k.producerID, k.epoch, "h", -1
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Offset = 5
		q.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
		return pinned{q, 3}
	}
	send := func(sequence int32) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request {
			q := produceOf(-1, "t", 0, idempotent(t, k, sequence, true)).(pinned)
			q.Request.(*kmsg.ProduceRequest).TransactionID = &id
			return q
		}
	}
	end := func(commit bool, epoch int16) func(*talk) kmsg.Request {
		return func(k *talk) kmsg.Request {
			q := kmsg.NewPtrEndTxnRequest()
			q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = id, k.producerID, k.epoch+epoch, commit
			return pinned{q, 3}
		}
	}
	marker := func(topic string) kmsg.Request {
		q := kmsg.NewPtrWriteTxnMarkersRequest()
		q.Markers = []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: 987654, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: []int32{1}}}}}
		return q
	}
	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{id, "nosuch"}
	return []line{
		{name: "find the coordinator of transactions", ask: just(find), but: oneNode},
		{name: "a transactional producer id", ask: initID, took: took},
		{name: "batch that was not announced", ask: send(0), but: noOffset},
		{name: "add a partition", ask: add("t", 0)},
		{name: "add an unknown topic", ask: add("nosuch", 0)},
		{name: "add with a wrong epoch", ask: add("t", 5)},
		{name: "batch", ask: send(0)},
		{name: "add offsets", ask: addOffsets},
		{name: "commit offsets", ask: commit},
		{name: "describe it", ask: just(describe), but: map[string]string{".TransactionStates[1].Topics": "Kafka lists the partition of the offsets too"}},
		{name: "list", ask: just(kmsg.NewPtrListTransactionsRequest())},
		{name: "commit with a wrong epoch", ask: end(true, 5)},
		{name: "commit", ask: end(true, 0)},
		{name: "commit again", ask: end(true, 0)},
		{name: "abort after the commit", ask: end(false, 0)},
		{name: "the end of committed records", ask: just(listOf("t", 0, -1, -1))},
		{name: "the producer comes back", ask: initID, took: took},
		{name: "the one before it", ask: end(true, -1)},
		{name: "a marker of an administrator", ask: just(marker("t"))},
		{name: "a marker in an unknown topic", ask: just(marker("nosuch"))},
	}
}

var synonyms = map[string]string{".Resources[0].Configs[2].ConfigSynonyms": "Kafka lists the default as a synonym"}

func settingLines() []line {
	rate := func(value float64, remove bool) kmsg.Request {
		q := kmsg.NewPtrAlterClientQuotasRequest()
		e, user := kmsg.NewAlterClientQuotasRequestEntry(), "ada"
		e.Entity = []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &user}}
		e.Ops = []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: value, Remove: remove}}
		q.Entries = []kmsg.AlterClientQuotasRequestEntry{e}
		return q
	}
	quotas := kmsg.NewPtrDescribeClientQuotasRequest()
	quotas.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 2}}
	password := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	password.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
		{Name: "ada", Mechanism: 1, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: make([]byte, 32)},
		{Name: "bob", Mechanism: 1, Iterations: 10, Salt: []byte("salt"), SaltedPassword: make([]byte, 32)},
	}
	forget := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	forget.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "ada", Mechanism: 1}, {Name: "eve", Mechanism: 2}}
	who := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	who.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: "ada"}, {Name: "eve"}}
	retention := configsOf(kmsg.ConfigResourceTypeTopic, "t")
	retention.Resources[0].ConfigNames = []string{"retention.ms", "cleanup.policy", "max.message.bytes"}
	reset := kmsg.NewPtrAlterConfigsRequest()
	reset.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}
	return []line{
		{name: "change a setting", ask: just(alterOf("t", "retention.ms", "123456"))},
		{name: "settings", ask: just(retention), but: synonyms},
		{name: "all settings as they are by default", ask: just(reset)},
		{name: "settings afterwards", ask: just(retention)},
		{name: "set a quota", ask: just(rate(1000, false))},
		{name: "quotas", ask: just(quotas)},
		{name: "remove the quota", ask: just(rate(0, true))},
		{name: "no quotas", ask: just(quotas)},
		{name: "credentials", ask: just(password)},
		{name: "whose credentials", ask: just(who)},
		{name: "remove credentials", ask: just(forget)},
		{name: "delete a topic", ask: just(deleteOf("keyed"))},
		{name: "delete it again", ask: just(deleteOf("keyed"))},
	}
}

func accessScript() []line {
	rule := func(kind kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kmsg.CreateACLsRequestCreation {
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = kind, name, kmsg.ACLResourcePatternTypeLiteral
		c.Principal, c.Host, c.Operation, c.PermissionType = "User:ada", "*", op, kmsg.ACLPermissionTypeAllow
		return c
	}
	add := kmsg.NewPtrCreateACLsRequest()
	add.Creations = []kmsg.CreateACLsRequestCreation{rule(kmsg.ACLResourceTypeTopic, "t", kmsg.ACLOperationRead), rule(kmsg.ACLResourceTypeGroup, "g", kmsg.ACLOperationRead)}
	bad := kmsg.NewPtrCreateACLsRequest()
	bad.Creations = []kmsg.CreateACLsRequestCreation{rule(kmsg.ACLResourceTypeCluster, "not the cluster", kmsg.ACLOperationRead)}
	list := kmsg.NewPtrDescribeACLsRequest()
	list.ResourceType, list.ResourcePatternType, list.Operation, list.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	remove := kmsg.NewPtrDeleteACLsRequest()
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType = kmsg.ACLResourceTypeTopic, kmsg.ACLResourcePatternTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	remove.Filters = []kmsg.DeleteACLsRequestFilter{f}
	return []line{
		{name: "no rules", ask: just(list)},
		{name: "add rules", ask: just(add)},
		{name: "rules", ask: just(list)},
		{name: "remove rules", ask: just(remove)},
		{name: "rules left", ask: just(list)},
		{name: "add what cannot be", ask: just(bad), but: map[string]string{".Results[0].ErrorCode": "there is one cluster resource, kafka-cluster"}},
	}
}
