package broker

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// permit lets a principal do something, by a command of Kafka's own.
func permit(t *testing.T, b *Broker, build *kadm.ACLBuilder) {
	t.Helper()
	results, err := local(t, b).CreateACLs(within(t), build)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("%+v: %v", r, r.Err)
		}
	}
}

// enforced runs a broker with a listener whose users may do what ACLs say, and clients of ada.
func enforced(t *testing.T, change func(*Config)) (*Broker, *kgo.Client) {
	b, _ := startGuarded(t, func(c *Config) {
		c.API.Access.Enforced = true
		if change != nil {
			change(c)
		}
	}, loginListener)
	addUser(t, b, "ada", "secret")
	return b, client(t, b, via(b, 1, kgo.SASL(scram.Auth{User: "ada", Pass: "secret"}.AsSha256Mechanism()))...)
}

func localTopic(t *testing.T, b *Broker, names ...string) {
	t.Helper()
	if _, err := local(t, b).CreateTopics(within(t), 1, -1, nil, names...); err != nil {
		t.Fatal(err)
	}
}

// codeIn gives the first error code of an answer, whatever it belongs to.
func codeIn(t *testing.T, r kmsg.Response) int16 {
	t.Helper()
	switch r := r.(type) {
	case *kmsg.ProduceResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.FetchResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.ListOffsetsResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetForLeaderEpochResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.DeleteRecordsResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.DescribeProducersResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.MetadataResponse:
		return r.Topics[0].ErrorCode
	case *kmsg.CreateTopicsResponse:
		return r.Topics[0].ErrorCode
	case *kmsg.DeleteTopicsResponse:
		return r.Topics[0].ErrorCode
	case *kmsg.CreatePartitionsResponse:
		return r.Topics[0].ErrorCode
	case *kmsg.DescribeConfigsResponse:
		return r.Resources[0].ErrorCode
	case *kmsg.AlterConfigsResponse:
		return r.Resources[0].ErrorCode
	case *kmsg.IncrementalAlterConfigsResponse:
		return r.Resources[0].ErrorCode
	case *kmsg.OffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetFetchResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.FindCoordinatorResponse:
		return r.Coordinators[0].ErrorCode
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	case *kmsg.DescribeGroupsResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.DeleteGroupsResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.OffsetDeleteResponse:
		return r.ErrorCode
	case *kmsg.InitProducerIDResponse:
		return r.ErrorCode
	case *kmsg.DescribeLogDirsResponse:
		return r.ErrorCode
	case *kmsg.DescribeACLsResponse:
		return r.ErrorCode
	case *kmsg.CreateACLsResponse:
		return r.Results[0].ErrorCode
	case *kmsg.DeleteACLsResponse:
		return r.Results[0].ErrorCode
	case *kmsg.DescribeUserSCRAMCredentialsResponse:
		return r.ErrorCode
	case *kmsg.AddPartitionsToTxnResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.AddOffsetsToTxnResponse:
		return r.ErrorCode
	case *kmsg.EndTxnResponse:
		return r.ErrorCode
	case *kmsg.WriteTxnMarkersResponse:
		return r.Markers[0].Topics[0].Partitions[0].ErrorCode
	case *kmsg.TxnOffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.DescribeTransactionsResponse:
		return r.TransactionStates[0].ErrorCode
	case *kmsg.DescribeClientQuotasResponse:
		return r.ErrorCode
	case *kmsg.AlterClientQuotasResponse:
		return r.Entries[0].ErrorCode
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		return r.Results[0].ErrorCode
	}
	t.Fatalf("no error of %T", r)
	return 0
}

// asking is a request about a topic, a group and a transactional id, and the error that who may do nothing is answered.
type asking struct {
	q    kmsg.Request
	want int16
}

func askings(topic, group, id string) []asking {
	noTopic, noGroup, noCluster := kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code
	noID := kerr.TransactionalIDAuthorizationFailed.Code
	return []asking{
		{&kmsg.ProduceRequest{Acks: -1, Topics: []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: []byte{1}}}}}}, noTopic},
		{&kmsg.ListOffsetsRequest{ReplicaID: -1, Topics: []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -1, CurrentLeaderEpoch: -1}}}}}, noTopic},
		{&kmsg.OffsetForLeaderEpochRequest{ReplicaID: -1, Topics: []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{CurrentLeaderEpoch: -1}}}}}, noTopic},
		{&kmsg.DeleteRecordsRequest{Topics: []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{}}}}}, noTopic},
		{&kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}}, noTopic},
		{&kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{{Topic: &topic}}}, noTopic},
		{&kmsg.MetadataRequest{AllowAutoTopicCreation: true, Topics: []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("missing")}}}, noTopic},
		{&kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{Topic: "x", NumPartitions: 1, ReplicationFactor: 1}}}, noTopic},
		{&kmsg.DeleteTopicsRequest{Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: &topic}}, TopicNames: []string{topic}}, noTopic},
		{&kmsg.CreatePartitionsRequest{Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: topic, Count: 5}}}, noTopic},
		{&kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic}}}, noTopic},
		{&kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"}}}, noCluster},
		{&kmsg.AlterConfigsRequest{Resources: []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic}}}, noTopic},
		{&kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic}}}, noTopic},
		{&kmsg.OffsetCommitRequest{Group: group, Generation: -1, Topics: []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{}}}}}, noGroup},
		{&kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{{Group: group}}}, noGroup},
		{&kmsg.FindCoordinatorRequest{CoordinatorKeys: []string{group}}, noGroup},
		{&kmsg.JoinGroupRequest{Group: group, SessionTimeoutMillis: 10_000}, noGroup},
		{&kmsg.HeartbeatRequest{Group: group}, noGroup},
		{&kmsg.LeaveGroupRequest{Group: group}, noGroup},
		{&kmsg.SyncGroupRequest{Group: group}, noGroup},
		{&kmsg.DescribeGroupsRequest{Groups: []string{group}}, noGroup},
		{&kmsg.DeleteGroupsRequest{Groups: []string{group}}, noGroup},
		{&kmsg.OffsetDeleteRequest{Group: group}, noGroup},
		{&kmsg.InitProducerIDRequest{}, noCluster},
		{&kmsg.InitProducerIDRequest{TransactionalID: &id}, noID},
		{&kmsg.DescribeLogDirsRequest{}, noCluster},
		{&kmsg.DescribeACLsRequest{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1}, noCluster},
		{&kmsg.CreateACLsRequest{Creations: []kmsg.CreateACLsRequestCreation{{}}}, noCluster},
		{&kmsg.DeleteACLsRequest{Filters: []kmsg.DeleteACLsRequestFilter{{}}}, noCluster},
		{&kmsg.DescribeUserSCRAMCredentialsRequest{}, noCluster},
		{&kmsg.AlterUserSCRAMCredentialsRequest{Deletions: []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "ada", Mechanism: 1}}}, noCluster},
		{&kmsg.FetchRequest{ReplicaID: -1, SessionEpoch: -1, MaxBytes: 1, Topics: []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{{CurrentLeaderEpoch: -1, PartitionMaxBytes: 1}}}}}, noTopic},
		{&kmsg.FindCoordinatorRequest{CoordinatorType: 1, CoordinatorKeys: []string{id}}, noID},
		{&kmsg.AddPartitionsToTxnRequest{TransactionalID: id, ProducerID: 1, Topics: []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}}, noID},
		{&kmsg.AddOffsetsToTxnRequest{TransactionalID: id, ProducerID: 1, Group: group}, noID},
		{&kmsg.EndTxnRequest{TransactionalID: id, ProducerID: 1}, noID},
		{&kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: 1, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: []int32{0}}}}}}, noCluster},
		{&kmsg.TxnOffsetCommitRequest{TransactionalID: id, Group: group, ProducerID: 1, Generation: -1, Topics: []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{}}}}}, noID},
		{&kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{id}}, noID},
		{&kmsg.DescribeClientQuotasRequest{}, noCluster},
		{&kmsg.AlterClientQuotasRequest{Entries: []kmsg.AlterClientQuotasRequestEntry{{}}}, noCluster},
	}
}

// version is the newest that asks by name.
func (a asking) version(newest map[int16][2]int16) int16 {
	switch a.q.Key() {
	case 0, 8, 9:
		return 9
	case 1:
		return 12
	case 11, 14, 28:
		return 5
	case 24: // from 4 on it is for brokers
		return 3
	}
	return newest[a.q.Key()][1]
}

// Who may do nothing is told so by the error of the protocol in every request, before anything else about it, and learns no name.
func TestWhoMayDoNothingIsToldSo(t *testing.T) {
	b, ada := enforced(t, nil)
	localTopic(t, b, "t")
	newest := advertised(t, handler(t, b))
	for _, a := range askings("t", "g", "t") {
		// A connection of its own: franz-go would look for the group's coordinator first.
		r, ok := asAda(t, b).ask(a.q, a.version(newest))
		if !ok {
			t.Errorf("%s: the connection was closed", kmsg.NameForKey(a.q.Key()))
			continue
		}
		if got := codeIn(t, r); got != a.want {
			t.Errorf("%s: error %d, want %d", kmsg.NameForKey(a.q.Key()), got, a.want)
		}
	}
	adm := kadm.NewClient(ada)
	if m, err := adm.Metadata(within(t)); err != nil || len(m.Topics) != 0 {
		t.Errorf("Metadata of all topics names %v, %v", m.Topics.Names(), err)
	}
}

func asAda(t *testing.T, b *Broker) *speaker {
	t.Helper()
	s := speak(t, b.Addrs()[1])
	s.handshake("PLAIN", 1)
	s.authenticate("\x00ada\x00secret")
	return s
}

// What exists and what does not are answered byte for byte alike to who may do nothing, and no list names anything.
func TestWhoMayDoNothingLearnsNotWhatExists(t *testing.T) {
	b, ada := enforced(t, nil)
	const topic, group, id = "exists-topic", "exists-group", "exists-id"
	localTopic(t, b, topic)
	c := localClient(t, b, kgo.TransactionalID(id), kgo.DefaultProduceTopic(topic))
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := c.ProduceSync(within(t), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 1, -1)
	if err := local(t, b).CommitAllOffsets(within(t), group, offsets); err != nil {
		t.Fatal(err)
	}
	newest := advertised(t, handler(t, b))
	for _, a := range askings(topic, group, id) {
		a.q.SetVersion(a.version(newest))
		there := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, a.q, 1)[4:]
		var answers [2][]byte
		for i, frame := range [][]byte{there, bytes.ReplaceAll(there, []byte("exists"), []byte("absent"))} {
			s := asAda(t, b)
			s.frame(frame)
			answers[i], _ = s.answer()
		}
		if !bytes.Equal(bytes.ReplaceAll(answers[0], []byte("exists"), []byte("absent")), answers[1]) {
			t.Errorf("%s tells apart what exists and what does not:\n%q\n%q", kmsg.NameForKey(a.q.Key()), answers[0], answers[1])
		}
	}
	adm := kadm.NewClient(ada)
	if groups, err := adm.ListGroups(within(t)); err != nil || len(groups) != 0 {
		t.Errorf("ListGroups names %v, %v", groups.Groups(), err)
	}
	if txns, err := adm.ListTransactions(within(t), nil, nil); err != nil || len(txns) != 0 {
		t.Errorf("ListTransactions names %v, %v", txns.TransactionalIDs(), err)
	}
	if txns, err := local(t, b).ListTransactions(within(t), nil, nil); err != nil || len(txns) != 1 {
		t.Errorf("the node's owner sees %v, %v", txns.TransactionalIDs(), err)
	}
}

// A question about a transaction, and one that names no partitions, are as forbidden as others.
func TestWhoMayDoNothingNeitherAsksNorBeginsATransaction(t *testing.T) {
	b, _ := enforced(t, nil)
	localTopic(t, b, "t")
	c := localClient(t, b, kgo.TransactionalID("tx"), kgo.DefaultProduceTopic("t"))
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := c.ProduceSync(within(t), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	describe := func() kadm.DescribedTransaction {
		all, err := local(t, b).DescribeTransactions(within(t), "tx")
		if err != nil {
			t.Fatal(err)
		}
		return all["tx"]
	}
	of := describe()
	verify := kmsg.NewPtrAddPartitionsToTxnRequest()
	verify.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{
		TransactionalID: "tx", ProducerID: of.ProducerID, ProducerEpoch: of.ProducerEpoch, VerifyOnly: true,
		Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "t", Partitions: []int32{0}}},
	}}
	r, ok := asAda(t, b).ask(verify, 4)
	if !ok {
		t.Fatal("the connection was closed")
	}
	if got := r.(*kmsg.AddPartitionsToTxnResponse).Transactions[0].Topics[0].Partitions[0].ErrorCode; got != kerr.ClusterAuthorizationFailed.Code {
		t.Errorf("whether a partition is part of a transaction: error %d, want CLUSTER_AUTHORIZATION_FAILED", got)
	}
	if err := c.EndTransaction(within(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the transaction is complete", func() bool { of = describe(); return of.State == "CompleteCommit" })
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "tx", of.ProducerID, of.ProducerEpoch
	asAda(t, b).ask(add, 3)
	if got := describe().State; got != "CompleteCommit" {
		t.Errorf("after somebody else named no partitions the transaction is %s, want CompleteCommit", got)
	}
}

func TestACLsOpenWhatTheySay(t *testing.T) {
	b, ada := enforced(t, nil)
	localTopic(t, b, "orders", "orders-eu", "secrets")
	permit(t, b, kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpRead, kadm.OpWrite).Allow("User:ada").AllowHosts("127.0.0.1"))
	permit(t, b, kadm.NewACLs().Groups("g").Operations(kadm.OpRead).Allow("User:ada").AllowHosts())
	permit(t, b, kadm.NewACLs().Topics("orders-eu").Operations(kadm.OpWrite).Deny("User:*").DenyHosts())
	adm := kadm.NewClient(ada)

	if err := roundTrip(t, via(b, 1, kgo.SASL(scram.Auth{User: "ada", Pass: "secret"}.AsSha256Mechanism()), kgo.ConsumerGroup("g")), "orders"); err != nil {
		t.Errorf("what is allowed: %v", err)
	}
	for _, topic := range []string{"orders-eu", "secrets"} {
		if err := ada.ProduceSync(within(t), &kgo.Record{Topic: topic}).FirstErr(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.Errorf("write to %s: %v, want TOPIC_AUTHORIZATION_FAILED", topic, err)
		}
	}
	m, err := adm.Metadata(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Topics.Names(); !slices.Equal(got, []string{"orders", "orders-eu"}) {
		t.Errorf("Metadata of all topics names %v", got)
	}

	q := kmsg.NewPtrMetadataRequest()
	q.IncludeTopicAuthorizedOperations = true
	for _, name := range []string{"orders", "orders-eu"} {
		q.Topics = append(q.Topics, kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr(name)})
	}
	r, err := q.RequestWith(within(t), ada)
	if err != nil {
		t.Fatal(err)
	}
	const read, write, describe = 1 << 3, 1 << 4, 1 << 8
	for i, want := range []int32{read | write | describe, read | describe} {
		if got := r.Topics[i].AuthorizedOperations; got != want {
			t.Errorf("operations on %s: %b, want %b", *r.Topics[i].Topic, got, want)
		}
	}

	id, err := local(t, b).Metadata(within(t), "secrets")
	if err != nil {
		t.Fatal(err)
	}
	byID := kmsg.NewPtrMetadataRequest()
	byID.Topics = []kmsg.MetadataRequestTopic{{TopicID: id.Topics["secrets"].ID}}
	r, err = byID.RequestWith(within(t), ada)
	if err != nil || r.Topics[0].ErrorCode != kerr.TopicAuthorizationFailed.Code || r.Topics[0].Topic != nil {
		t.Errorf("by id: %+v, %v: want an error and no name", r.Topics, err)
	}

	gone, err := local(t, b).DeleteACLs(within(t), kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternPrefixed).Operations().Allow().AllowHosts().Deny().DenyHosts())
	if err != nil || len(gone) == 0 {
		t.Fatalf("delete: %+v, %v", gone, err)
	}
	removed := 0
	for _, g := range gone {
		removed += len(g.Deleted)
	}
	if removed != 2 {
		t.Errorf("%d ACLs removed, want 2: %+v", removed, gone)
	}
	if err := ada.ProduceSync(within(t), &kgo.Record{Topic: "orders"}).FirstErr(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("after the ACL is gone: %v, want TOPIC_AUTHORIZATION_FAILED", err)
	}
}

func TestSuperUsersAndTheOwnerOfTheNodeMayDoEverything(t *testing.T) {
	b, ada := enforced(t, func(c *Config) { c.API.Access.Policy.SuperUsers = []string{"User:ada"} })
	if _, err := kadm.NewClient(ada).CreateTopic(within(t), 1, -1, nil, "t"); err != nil {
		t.Errorf("a super user: %v", err)
	}
	localTopic(t, b, "u")
	anonymous := client(t, b)
	if _, err := kadm.NewClient(anonymous).CreateTopic(within(t), 1, -1, nil, "v"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("nobody: %v, want TOPIC_AUTHORIZATION_FAILED", err)
	}
}

func TestWithoutAuthenticationACLsAreNotTaken(t *testing.T) {
	b, _ := start(t, nil)
	results, err := kadm.NewClient(client(t, b)).CreateACLs(within(t), kadm.NewACLs().Topics("t").Operations(kadm.OpRead).Allow("User:ada").AllowHosts())
	if err != nil || len(results) != 1 || !errors.Is(results[0].Err, kerr.SecurityDisabled) {
		t.Errorf("%+v, %v: want SECURITY_DISABLED", results, err)
	}
	permit(t, b, kadm.NewACLs().Topics("t").Operations(kadm.OpRead).Allow("User:ada").AllowHosts())
}

// Names that would mean others than they say, or that the agreed lists could not tell apart, are refused.
func TestNamesThatMeanOthersAreRefused(t *testing.T) {
	b, _ := enforced(t, nil)
	for _, name := range []string{"*", "ANONYMOUS", "a\x00b", "new\nline", "\xff"} {
		q := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		q.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: name, Mechanism: 1, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: make([]byte, 32)}}
		r, err := q.RequestWith(within(t), localClient(t, b))
		if err != nil || r.Results[0].ErrorCode != kerr.UnacceptableCredential.Code {
			t.Errorf("a user %q: %+v, %v", name, r.Results, err)
		}
	}
	for _, c := range []kmsg.CreateACLsRequestCreation{
		{ResourceType: kmsg.ACLResourceTypeGroup, ResourceName: "g\xff", Principal: "User:ada"},
		{ResourceType: kmsg.ACLResourceTypeGroup, ResourceName: "g", Principal: "User:\xff"},
		{ResourceType: kmsg.ACLResourceTypeGroup, ResourceName: "g", Principal: "Group:ada"},
		{ResourceType: kmsg.ACLResourceTypeDelegationToken, ResourceName: "t", Principal: "User:ada"},
		{ResourceType: kmsg.ACLResourceTypeUser, ResourceName: "ada", Principal: "User:ada"},
		{ResourceType: kmsg.ACLResourceTypeCluster, ResourceName: "another", Principal: "User:ada"},
	} {
		c.ResourcePatternType, c.Host, c.Operation, c.PermissionType = kmsg.ACLResourcePatternTypeLiteral, "*", kmsg.ACLOperationDescribe, kmsg.ACLPermissionTypeDeny
		q := kmsg.NewPtrCreateACLsRequest()
		q.Creations = []kmsg.CreateACLsRequestCreation{c}
		r, err := q.RequestWith(within(t), localClient(t, b))
		if err != nil || r.Results[0].ErrorCode != kerr.InvalidRequest.Code {
			t.Errorf("an ACL on %v %q of %q: %+v, %v", c.ResourceType, c.ResourceName, c.Principal, r.Results, err)
		}
	}
	name := "\xff"
	q := kmsg.NewPtrAlterClientQuotasRequest()
	q.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &name}}, Ops: []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1}}}}
	if r, err := q.RequestWith(within(t), localClient(t, b)); err != nil || r.Entries[0].ErrorCode != kerr.InvalidRequest.Code {
		t.Errorf("a quota of %q: %+v, %v", name, r.Entries, err)
	}
}

// A name is no pattern: what looks like one is a name, and what an ACL denies by prefix or for all goes before what it allows by name.
func TestPrincipalsAreNoPatterns(t *testing.T) {
	b, _ := enforced(t, nil)
	localTopic(t, b, "orders-eu")
	permit(t, b, kadm.NewACLs().Topics("orders-eu").Operations(kadm.OpWrite).Allow("User:a.a", "User:[a-z]+", "User:ad", "User:ADA").AllowHosts())
	ada := func() error {
		c := client(t, b, via(b, 1, kgo.DisableIdempotentWrite(), kgo.SASL(scram.Auth{User: "ada", Pass: "secret"}.AsSha256Mechanism()))...)
		return c.ProduceSync(within(t), &kgo.Record{Topic: "orders-eu"}).FirstErr()
	}
	if err := ada(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("what others with a similar name may do: %v", err)
	}
	permit(t, b, kadm.NewACLs().Topics("orders-eu").Operations(kadm.OpWrite).Allow("User:ada").AllowHosts())
	permit(t, b, kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpWrite).Deny("User:*").DenyHosts("10.1.2.3"))
	if err := ada(); err != nil {
		t.Errorf("a denial for another address: %v", err)
	}
	permit(t, b, kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpWrite).Deny("User:*").DenyHosts())
	if err := ada(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("a prefix that is denied to all: %v", err)
	}
}

// Groups have settings of their own since Kafka 4, which clients expect among what they may do.
func TestOperationsOnAGroup(t *testing.T) {
	b, _ := start(t, nil)
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Groups, q.IncludeAuthorizedOperations = []string{"g"}, true
	localTopic(t, b, "t")
	var offsets kadm.Offsets
	offsets.AddOffset("t", 0, 0, -1)
	c := client(t, b)
	if err := kadm.NewClient(c).CommitAllOffsets(within(t), "g", offsets); err != nil {
		t.Fatal(err)
	}
	r, err := q.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	const read, remove, describe, describeConfigs, alterConfigs = 1 << 3, 1 << 6, 1 << 8, 1 << 10, 1 << 11
	if got, want := r.Groups[0].AuthorizedOperations, int32(read|remove|describe|describeConfigs|alterConfigs); got != want {
		t.Errorf("operations on a group: %b, want %b", got, want)
	}
}
