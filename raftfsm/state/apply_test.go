package state

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

var t0 = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// run applies commands and fails on the first that is refused.
func run(t *testing.T, s *State, cmds ...command.Command) *State {
	t.Helper()
	for _, cmd := range cmds {
		next, _, err := s.Apply(cmd, t0)
		if err != nil {
			t.Fatalf("apply %#v: %v", cmd, err)
		}
		s = next
	}
	return s
}

func full(t *testing.T) *State {
	return run(t, New(),
		command.InitCluster{ClusterID: "c1", RouteKey: [16]byte{1}, ImportKey: [32]byte{2}},
		command.RegisterBroker{ID: 1, ServerID: "s", Host: "127.0.0.1", Port: 9092},
		command.CreateTopic{Name: "events", ID: [16]byte{9}, Partitions: 8, ReplicationFactor: -1, Configs: map[string]string{"retention.ms": "5"}},
		command.AddSite{Name: "WWW.Shop.example.", Timezone: "Europe/Berlin", Salts: command.Salts{"2026-03-04": {7}}},
		command.AddUser{Email: " Ann@Example.com", Role: "admin", PasswordHash: "h"},
		command.AddToken{Name: "ci", Scopes: []string{"stats", "stats"}, SecretHash: [32]byte{3}},
		command.AllocateProducerIDs{Count: 1000},
		command.CreateACLs{ACLs: []command.ACL{readT}},
		credential("ada", ScramSHA256, 32),
		command.AlterQuota{User: new("ada"), Set: map[string]float64{QuotaProduce: 1024, QuotaFetch: 2048}})
}

var readT = command.ACL{Resource: "topic", Name: "t", Pattern: "literal", Principal: "User:ada", Host: "*", Operation: "read", Permission: "allow"}

func acl(change func(*command.ACL)) command.CreateACLs {
	a := readT
	change(&a)
	return command.CreateACLs{ACLs: []command.ACL{a}}
}

func credential(user, mechanism string, size int) command.SetCredential {
	return command.SetCredential{
		User: user, Mechanism: mechanism, Salt: []byte("salt"), Iterations: 4096, StoredKey: make([]byte, size), ServerKey: make([]byte, size),
	}
}

func TestApplyNeverChangesTheStateItStartsFrom(t *testing.T) {
	zone := "Asia/Kolkata"
	for _, cmd := range []command.Command{
		command.RegisterBroker{ID: 2, ServerID: "t", Host: "h", Port: 1},
		command.CreateTopic{Name: "x", ID: [16]byte{1}, Partitions: 1, ReplicationFactor: 1},
		command.DeleteTopic{Name: "events"},
		command.SetTopicConfigs{Name: "events", Configs: map[string]string{"retention.ms": "6"}},
		command.AddPartitions{Name: "events", Total: 9},
		command.CreateACLs{ACLs: []command.ACL{{Resource: "cluster", Name: ClusterResource, Pattern: "literal", Principal: "User:*", Host: "::1", Operation: "all", Permission: "deny"}}},
		command.DeleteACLs{ACLs: []command.ACL{readT}},
		credential("ada", ScramSHA512, 64),
		command.DeleteCredential{User: "ada", Mechanism: ScramSHA256},
		command.AlterQuota{ClientID: new(""), Set: map[string]float64{QuotaFetch: 1}},
		command.AlterQuota{User: new("ada"), Set: map[string]float64{QuotaProduce: 1}, Remove: []string{QuotaFetch}},
		command.AlterQuota{User: new("ada"), Remove: []string{QuotaFetch, QuotaProduce}},
		command.AddSite{Name: "b.example", Timezone: "UTC", Salts: command.Salts{"2026-03-05": {8}}},
		command.UpdateSite{Name: "shop.example", Timezone: &zone},
		command.DeleteSite{Name: "shop.example"},
		command.AddUser{Email: "bob@example.com", Role: "viewer", PasswordHash: "h"},
		command.SetPassword{Email: "ann@example.com", PasswordHash: "i"},
		command.AddToken{Name: "other", Scopes: []string{"admin"}},
		command.DeleteToken{ID: 1},
		command.AllocateProducerIDs{Count: 5},
		command.AgreeSalts{Add: command.Salts{"2026-03-06": {1}}, Erase: []string{"2026-03-04"}},
	} {
		s := full(t)
		before, _ := s.AppendSnapshot(nil)
		next, _, err := s.Apply(cmd, t0)
		if err != nil {
			t.Fatalf("apply %#v: %v", cmd, err)
		}
		after, _ := s.AppendSnapshot(nil)
		if !bytes.Equal(before, after) {
			t.Errorf("%T changed the old state", cmd)
		}
		if next.Version != s.Version+1 {
			t.Errorf("%T: version %d, want %d", cmd, next.Version, s.Version+1)
		}
		changed, _ := next.AppendSnapshot(nil)
		if bytes.Equal(changed, before) {
			t.Errorf("%T changed nothing", cmd)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	empty, bad := "", "a b"
	for _, c := range []struct {
		name string
		cmd  command.Command
		want error // or nil: an ErrInvalid of the field
		on   string
	}{
		{"second cluster", command.InitCluster{ClusterID: "c2"}, ErrExists, ""},
		{"broker without port", command.RegisterBroker{ID: 1, Host: "h"}, nil, "advertise"},
		{"topic twice", command.CreateTopic{Name: "events", ID: [16]byte{1}, Partitions: 1, ReplicationFactor: 1}, ErrExists, ""},
		{"topic with a slash", command.CreateTopic{Name: "a/b", ID: [16]byte{1}, Partitions: 1, ReplicationFactor: 1}, nil, "name"},
		{"topic without partitions", command.CreateTopic{Name: "x", ID: [16]byte{1}, ReplicationFactor: 1}, nil, "partitions"},
		{"no copies", command.CreateTopic{Name: "x", ID: [16]byte{1}, Partitions: 1}, nil, "replication_factor"},
		{"fewer partitions", command.AddPartitions{Name: "events", Total: 7}, nil, "partitions"},
		{"configure nothing", command.SetTopicConfigs{Name: "x"}, ErrNotFound, ""},
		{"no topic", command.DeleteTopic{Name: "x"}, ErrNotFound, ""},
		{"site twice in another case", command.AddSite{Name: "SHOP.example", Timezone: "UTC"}, ErrExists, ""},
		{"site as URL", command.AddSite{Name: "https://x.example/", Timezone: "UTC"}, nil, "name"},
		{"site without zone", command.AddSite{Name: "x.example"}, nil, "timezone"},
		{"site with a bad salt day", command.AddSite{Name: "x.example", Timezone: "UTC", Salts: command.Salts{"soon": {}}}, nil, "salts"},
		{"rename to nothing", command.UpdateSite{Name: "shop.example", NewName: &empty}, nil, "name"},
		{"rename to two words", command.UpdateSite{Name: "shop.example", NewName: &bad}, nil, "name"},
		{"no site", command.DeleteSite{Name: "x.example"}, ErrNotFound, ""},
		{"user twice in another case", command.AddUser{Email: "ANN@example.com", Role: "admin", PasswordHash: "h"}, ErrExists, ""},
		{"no address", command.AddUser{Email: "ann", Role: "admin", PasswordHash: "h"}, nil, "email"},
		{"no such role", command.AddUser{Email: "b@c", Role: "root", PasswordHash: "h"}, nil, "role"},
		{"last administrator", command.DeleteUser{Email: "ann@example.com"}, nil, "email"},
		{"token twice", command.AddToken{Name: "ci", Scopes: []string{"stats"}}, ErrExists, ""},
		{"no scope", command.AddToken{Name: "x"}, nil, "scopes"},
		{"no such scope", command.AddToken{Name: "x", Scopes: []string{"all"}}, nil, "scopes"},
		{"no token", command.DeleteToken{ID: 5}, ErrNotFound, ""},
		{"no ids", command.AllocateProducerIDs{}, nil, "count"},
		{"listener without host", command.RegisterBroker{ID: 1, Host: "h", Port: 1, Listeners: []command.Listener{{Name: "SSL", Port: 2}}}, nil, "advertise"},
		{"ACL of nothing", acl(func(a *command.ACL) { a.Resource = "table" }), nil, "resource"},
		{"ACL without name", acl(func(a *command.ACL) { a.Name = "" }), nil, "name"},
		{"ACL by expression", acl(func(a *command.ACL) { a.Pattern = "regex" }), nil, "pattern"},
		{"ACL of a group of people", acl(func(a *command.ACL) { a.Principal = "Group:staff" }), nil, "principal"},
		{"ACL of a network", acl(func(a *command.ACL) { a.Host = "10.0.0.0/8" }), nil, "host"},
		{"ACL of what topics can't", acl(func(a *command.ACL) { a.Operation = "cluster_action" }), nil, "operation"},
		{"ACL perhaps", acl(func(a *command.ACL) { a.Permission = "any" }), nil, "permission"},
		{"ACL of another cluster", acl(func(a *command.ACL) { a.Resource = "cluster" }), nil, "name"},
		{"no user", credential("", ScramSHA256, 32), nil, "user"},
		{"no mechanism", credential("eve", "PLAIN", 32), nil, "mechanism"},
		{"keys of another hash", credential("eve", ScramSHA512, 32), nil, "keys"},
		{"no credential", command.DeleteCredential{User: "ada", Mechanism: ScramSHA512}, ErrNotFound, ""},
		{"quota of nobody", command.AlterQuota{Set: map[string]float64{QuotaFetch: 1}}, nil, "entity"},
		{"quota of something else", command.AlterQuota{User: &empty, Set: map[string]float64{"controller_mutation_rate": 1}}, nil, "key"},
		{"quota of nothing", command.AlterQuota{User: &empty, Set: map[string]float64{QuotaFetch: 0}}, nil, "value"},
		{"quota of half a byte", command.AlterQuota{User: &empty, Set: map[string]float64{QuotaFetch: 0.5}}, nil, "value"},
		{"set-up again", command.CompleteSetup{}, ErrSetupDone, ""},
	} {
		s := full(t)
		got, _, err := s.Apply(c.cmd, t0)
		if got != s {
			t.Errorf("%s: a refused command made a new state", c.name)
		}
		if c.want != nil {
			if !errors.Is(err, c.want) {
				t.Errorf("%s: err = %v, want %v", c.name, err, c.want)
			}
			continue
		}
		var inv ErrInvalid
		if !errors.As(err, &inv) || inv.Field != c.on {
			t.Errorf("%s: err = %v, want ErrInvalid of %s", c.name, err, c.on)
		}
	}
}

func TestSetupAddsUserAndSiteOrNeither(t *testing.T) {
	user := command.AddUser{Email: "a@b.c", Role: "admin", PasswordHash: "h"}
	s, _, err := New().Apply(command.CompleteSetup{User: user, Site: command.AddSite{Name: "no host", Timezone: "UTC"}}, t0)
	if err == nil || len(s.Users) != 0 {
		t.Fatalf("set-up with a bad site: err = %v, %d users", err, len(s.Users))
	}
	s, result, err := s.Apply(command.CompleteSetup{User: user, Site: command.AddSite{Name: "a.example", Timezone: "UTC"}}, t0)
	if err != nil || len(s.Users) != 1 || len(s.Sites) != 1 || result.(SetupResult).Site.ID != 1 {
		t.Fatalf("set-up: %v, %d users, %d sites", err, len(s.Users), len(s.Sites))
	}
}

func TestSiteIDsAreNotReused(t *testing.T) {
	s := run(t, full(t), command.DeleteSite{Name: "shop.example"}, command.AddSite{Name: "shop.example", Timezone: "UTC"})
	if site, _ := s.SiteByName("shop.example"); site.ID != 2 {
		t.Errorf("site id %d, want 2", site.ID)
	}
}

func TestZoneChangeStartsANewGeneration(t *testing.T) {
	same, other := "Europe/Berlin", "UTC"
	s := run(t, full(t), command.UpdateSite{Name: "shop.example", Timezone: &same})
	if site := s.Sites[1]; site.Generation != 1 {
		t.Errorf("same zone: generation %d, want 1", site.Generation)
	}
	s = run(t, s, command.UpdateSite{Name: "shop.example", Timezone: &other})
	if site := s.Sites[1]; site.Generation != 2 {
		t.Errorf("other zone: generation %d, want 2", site.Generation)
	}
}

func TestSnapshotRestoresTheSameState(t *testing.T) {
	s := full(t)
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseSnapshot(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, s) {
		t.Errorf("restored %+v\nwant %+v", got, s)
	}
	if _, ok := got.SiteByName("www.shop.example"); !ok {
		t.Error("the restored state does not find its site")
	}
	if _, err := ParseSnapshot([]byte(`{"snapshot_version":2,"state":{}}`)); !errors.Is(err, ErrSnapshotUnsupported) {
		t.Errorf("version 2: %v, want ErrSnapshotUnsupported", err)
	}
}

// Property: ParseSnapshot never panics, and what it accepts is written back as a snapshot of the same state.
func FuzzParseSnapshot(f *testing.F) {
	b, _ := New().AppendSnapshot(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := ParseSnapshot(in)
		if err != nil {
			return
		}
		b, err := s.AppendSnapshot(nil)
		if err != nil {
			t.Skip("times beyond year 9999 are accepted nowhere, but parse in some forms")
		}
		if _, err := ParseSnapshot(b); err != nil {
			t.Fatalf("parse again: %v", err)
		}
	})
}
