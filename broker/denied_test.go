package broker

import (
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
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		return r.Results[0].ErrorCode
	}
	t.Fatalf("no error of %T", r)
	return 0
}

// Who may do nothing is told so by the error of the protocol in every request, before anything else about it, and learns no name.
func TestWhoMayDoNothingIsToldSo(t *testing.T) {
	b, ada := enforced(t, nil)
	localTopic(t, b, "t")
	newest := advertised(t, handler(t, b))
	topic, group, cluster := kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code
	name := kmsg.StringPtr("t")
	for _, c := range []struct {
		q    kmsg.Request
		want int16
	}{
		{&kmsg.ProduceRequest{Acks: -1, Topics: []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: []byte{1}}}}}}, topic},
		{&kmsg.ListOffsetsRequest{ReplicaID: -1, Topics: []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -1, CurrentLeaderEpoch: -1}}}}}, topic},
		{&kmsg.OffsetForLeaderEpochRequest{ReplicaID: -1, Topics: []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{CurrentLeaderEpoch: -1}}}}}, topic},
		{&kmsg.DeleteRecordsRequest{Topics: []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{}}}}}, topic},
		{&kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}}}, topic},
		{&kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{{Topic: name}}}, topic},
		{&kmsg.MetadataRequest{AllowAutoTopicCreation: true, Topics: []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("missing")}}}, topic},
		{&kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{Topic: "x", NumPartitions: 1, ReplicationFactor: 1}}}, topic},
		{&kmsg.DeleteTopicsRequest{Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: name}}, TopicNames: []string{"t"}}, topic},
		{&kmsg.CreatePartitionsRequest{Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 5}}}, topic},
		{&kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}}, topic},
		{&kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"}}}, cluster},
		{&kmsg.AlterConfigsRequest{Resources: []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}}, topic},
		{&kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}}, topic},
		{&kmsg.OffsetCommitRequest{Group: "g", Generation: -1, Topics: []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{}}}}}, group},
		{&kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{{Group: "g"}}}, group},
		{&kmsg.FindCoordinatorRequest{CoordinatorKeys: []string{"g"}}, group},
		{&kmsg.JoinGroupRequest{Group: "g", SessionTimeoutMillis: 10_000}, group},
		{&kmsg.HeartbeatRequest{Group: "g"}, group},
		{&kmsg.LeaveGroupRequest{Group: "g"}, group},
		{&kmsg.SyncGroupRequest{Group: "g"}, group},
		{&kmsg.DescribeGroupsRequest{Groups: []string{"g"}}, group},
		{&kmsg.DeleteGroupsRequest{Groups: []string{"g"}}, group},
		{&kmsg.OffsetDeleteRequest{Group: "g"}, group},
		{&kmsg.InitProducerIDRequest{}, cluster},
		{&kmsg.InitProducerIDRequest{TransactionalID: name}, kerr.TransactionalIDAuthorizationFailed.Code},
		{&kmsg.DescribeLogDirsRequest{}, cluster},
		{&kmsg.DescribeACLsRequest{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1}, cluster},
		{&kmsg.CreateACLsRequest{Creations: []kmsg.CreateACLsRequestCreation{{}}}, cluster},
		{&kmsg.DeleteACLsRequest{Filters: []kmsg.DeleteACLsRequestFilter{{}}}, cluster},
		{&kmsg.DescribeUserSCRAMCredentialsRequest{}, cluster},
		{&kmsg.AlterUserSCRAMCredentialsRequest{Deletions: []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "ada", Mechanism: 1}}}, cluster},
	} {
		// A connection of its own: franz-go would look for the group's coordinator first.
		s := speak(t, b.Addrs()[1])
		s.handshake("PLAIN", 1)
		s.authenticate("\x00ada\x00secret")
		version := newest[c.q.Key()][1]
		switch c.q.Key() {
		case 0, 8, 9: // the newest ask by topic id
			version = 9
		case 14, 11:
			version = 5
		}
		r, ok := s.ask(c.q, version)
		if !ok {
			t.Errorf("%s: the connection was closed", kmsg.NameForKey(c.q.Key()))
			continue
		}
		if got := codeIn(t, r); got != c.want {
			t.Errorf("%s: error %d, want %d", kmsg.NameForKey(c.q.Key()), got, c.want)
		}
	}
	if m, err := kadm.NewClient(ada).Metadata(within(t)); err != nil || len(m.Topics) != 0 {
		t.Errorf("Metadata of all topics names %v, %v", m.Topics.Names(), err)
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
