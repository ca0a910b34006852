package command

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"
)

func samples() []Command {
	name, zone := "new.example", "Asia/Kolkata"
	return []Command{
		InitCluster{ClusterID: "c", RouteKey: [16]byte{1}, ImportKey: [32]byte{2}},
		RegisterBroker{ID: 1, ServerID: "s", Host: "127.0.0.1", Port: 9092, Listeners: []Listener{{Name: "SSL", Host: "log.example", Port: 9093}}},
		CreateTopic{Name: "t", ID: [16]byte{3}, Partitions: 8, ReplicationFactor: -1, Configs: map[string]string{"retention.ms": "1"}, Internal: true},
		DeleteTopic{Name: "t"},
		AddSite{Name: "a.example", Timezone: "UTC", Salts: Salts{"2026-01-02": {4}}},
		UpdateSite{Name: "a.example", NewName: &name, Timezone: &zone, Rules: &Rules{Addresses: []string{"10.0.0.0/8"}, QueryListed: true, Query: []string{"q"}}},
		DeleteSite{Name: "a.example"},
		AddUser{Email: "a@b", Role: "admin", PasswordHash: "h"},
		SetPassword{Email: "a@b", PasswordHash: "i"},
		DeleteUser{Email: "a@b"},
		AddToken{Name: "ci", Scopes: []string{"stats"}, SecretHash: [32]byte{5}},
		DeleteToken{ID: 9},
		AllocateProducerIDs{Count: 1000},
		AgreeSalts{Add: Salts{"2026-01-02": {4}}, Erase: []string{"2025-12-31"}},
		SetTopicConfigs{Name: "t", Configs: map[string]string{"retention.ms": "1"}},
		AddPartitions{Name: "t", Total: 9},
		CreateACLs{ACLs: []ACL{{"topic", "t", "literal", "User:ada", "*", "read", "allow"}}},
		DeleteACLs{ACLs: []ACL{{"group", "g", "prefixed", "User:*", "10.0.0.1", "all", "deny"}}},
		SetCredential{User: "ada", Mechanism: "SCRAM-SHA-256", Salt: []byte{1}, Iterations: 4096, StoredKey: []byte{2}, ServerKey: []byte{3}},
		DeleteCredential{User: "ada", Mechanism: "SCRAM-SHA-512"},
		AlterQuota{User: &name, ClientID: new(string), Set: map[string]float64{"producer_byte_rate": 1024}, Remove: []string{"request_percentage"}},
		PutLinks{Links: []Link{{Domain: "go.example", Slug: "a", Site: "a.example", Dest: "https://b.example/", Status: 302, ExpiresMs: 5}}, Replace: true},
		DeleteLink{Domain: "go.example", Slug: "a"},
		SetAuthority{Cert: []byte("c"), Key: []byte("k")},
		AddJoinToken{SecretHash: [32]byte{6}, Expires: time.UnixMilli(5).UTC()},
		JoinNode{SecretHash: [32]byte{6}, NodeID: 2, ServerID: "s", Peer: "10.0.0.2:9094"},
		RemoveNode{ID: 2},
		AssignReplicas{Moves: []Move{{TopicID: [16]byte{3}, Partition: 1, Replicas: []int32{2, 1, 3}}}},
		OpenPartitions{TopicID: [16]byte{3}, Partitions: []int32{7}},
		CompleteSetup{User: AddUser{Email: "a@b", Role: "admin", PasswordHash: "h"}, Site: AddSite{Name: "a.example", Timezone: "UTC"}},
	}
}

func TestEveryKindSurvivesEncoding(t *testing.T) {
	at := time.UnixMilli(1_767_225_600_123).UTC()
	seen := map[Kind]bool{}
	for _, want := range samples() {
		b, err := Append(nil, at, want)
		if err != nil {
			t.Fatal(err)
		}
		got, gotAt, err := Parse(b)
		if err != nil {
			t.Fatalf("Parse(%T): %v", want, err)
		}
		if !reflect.DeepEqual(got, want) || !gotAt.Equal(at) {
			t.Errorf("Parse = %#v at %v, want %#v at %v", got, gotAt, want, at)
		}
		seen[want.Kind()] = true
	}
	if len(seen) != len(kinds) {
		t.Errorf("%d kinds have a sample, %d exist", len(seen), len(kinds))
	}
}

func TestParseRefusesWhatItCannotApply(t *testing.T) {
	good, _ := Append(nil, time.UnixMilli(0), DeleteSite{Name: "x"})
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"empty", nil, ErrMalformed},
		{"header only", good[:headerSize], ErrMalformed},
		{"cut body", good[:len(good)-1], ErrMalformed},
		{"two bodies", append(bytes.Clone(good), "{}"...), ErrMalformed},
		{"other version", append([]byte{version + 1}, good[1:]...), ErrUnsupported},
		{"unknown kind", append([]byte{version, 0xff, 0xff}, good[3:]...), ErrUnsupported},
		{"unknown field", append(bytes.Clone(good[:headerSize]), `{"name":"x","colour":1}`...), ErrUnsupported},
		{"wrong type", append(bytes.Clone(good[:headerSize]), `{"name":5}`...), ErrUnsupported},
	} {
		if _, _, err := Parse(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: err = %v, want %v", c.name, err, c.want)
		}
	}
}

// Property: Parse never panics, and what it accepts encodes to something that parses to the same command.
func FuzzParse(f *testing.F) {
	for _, cmd := range samples() {
		b, _ := Append(nil, time.UnixMilli(1), cmd)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		cmd, at, err := Parse(in)
		if err != nil {
			return
		}
		again, err := Append(nil, at, cmd)
		if err != nil {
			t.Skip("accepted input may grow past MaxSize when written again")
		}
		cmd2, at2, err := Parse(again)
		if err != nil || !at2.Equal(at) {
			t.Fatalf("second Parse: %v at %v, want %v", err, at2, at)
		}
		final, _ := Append(nil, at2, cmd2)
		if !bytes.Equal(again, final) {
			t.Fatalf("encoding changed:\n%q\n%q", again, final)
		}
	})
}
