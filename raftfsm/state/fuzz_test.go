package state

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// throughLog encodes a command, decodes it, and applies it twice to the same state and once to the outcome.
func throughLog[C command.Command](t *testing.T, cmd C) (*State, error) {
	t.Helper()
	b, err := command.Append(nil, time.UnixMilli(1), cmd)
	if err != nil {
		t.Skip(err) // too large, or a number that JSON does not have
	}
	parsed, at, err := command.Parse(b)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	again, _ := command.Append(nil, at, parsed)
	if second, _, err := command.Parse(again); err != nil || !reflect.DeepEqual(second, parsed) {
		t.Fatalf("read as %#v, then as %#v, %v", parsed, second, err)
	}
	s := full(t)
	one, _, err := s.Apply(parsed, at)
	two, _, err2 := s.Apply(parsed, at)
	if (err == nil) != (err2 == nil) || !reflect.DeepEqual(one, two) {
		t.Fatalf("applied to %+v, %v, then to %+v, %v", one, err, two, err2)
	}
	if err != nil {
		return nil, err
	}
	return one, nil
}

// What is let through comes back from the log as it was, is in the list once, and goes again.
func FuzzACL(f *testing.F) {
	f.Add("topic", "t", "literal", "User:ada", "*", "read", "allow")
	f.Add("cluster", "kafka-cluster", "literal", "User:*", "10.0.0.1", "all", "deny")
	f.Add("group", "g\xff", "prefixed", "User:CN=a,O=\xfe", "::1", "delete", "deny")
	f.Fuzz(func(t *testing.T, resource, name, pattern, principal, host, operation, permission string) {
		a := ACL{Resource: resource, Name: name, Pattern: pattern, Principal: principal, Host: host, Operation: operation, Permission: permission}
		if CheckACL(a) != nil {
			throughLog(t, command.CreateACLs{ACLs: []ACL{a}})
			return
		}
		s, err := throughLog(t, command.CreateACLs{ACLs: []ACL{a, a}})
		if err != nil {
			t.Fatalf("what the check lets through is refused: %v", err)
		}
		found := 0
		for _, got := range s.ACLs {
			if got == a {
				found++
			}
		}
		if found != 1 {
			t.Fatalf("%+v became %+v", a, s.ACLs)
		}
		s, _, err = s.Apply(command.DeleteACLs{ACLs: []ACL{a}}, time.UnixMilli(2))
		if err != nil || slices.Contains(s.ACLs, a) {
			t.Fatalf("deleted, there is %+v, %v", s.ACLs, err)
		}
	})
}

func FuzzCredential(f *testing.F) {
	f.Add("ada", ScramSHA256, []byte("salt"), int32(4096), make([]byte, 32), make([]byte, 32))
	f.Add("bob", ScramSHA512, []byte{0}, int32(16384), make([]byte, 64), make([]byte, 64))
	f.Fuzz(func(t *testing.T, user, mechanism string, salt []byte, iterations int32, stored, server []byte) {
		s, err := throughLog(t, command.SetCredential{User: user, Mechanism: mechanism, Salt: salt, Iterations: iterations, StoredKey: stored, ServerKey: server})
		if err != nil {
			return
		}
		for name, c := range s.Credentials {
			for _, m := range []string{ScramSHA256, ScramSHA512} {
				if k := c.Of(m); k != nil && (name == "" || k.Iterations < MinIterations || k.Iterations > MaxIterations || len(k.Salt) == 0 || len(k.StoredKey) != len(k.ServerKey)) {
					t.Fatalf("%q has %+v", name, k)
				}
			}
		}
	})
}

func FuzzQuota(f *testing.F) {
	f.Add("ada", "app", true, true, QuotaProduce, 1024.0, QuotaFetch)
	f.Add("", "", true, false, QuotaRequest, .5, "")
	f.Fuzz(func(t *testing.T, user, client string, hasUser, hasClient bool, key string, value float64, remove string) {
		cmd := command.AlterQuota{Set: map[string]float64{key: value}, Remove: []string{remove}}
		if hasUser {
			cmd.User = &user
		}
		if hasClient {
			cmd.ClientID = &client
		}
		s, err := throughLog(t, cmd)
		if err != nil {
			return
		}
		for i, q := range s.Quotas {
			if len(q.Limits) == 0 || i > 0 && s.Quotas[i-1].Entity.Compare(q.Entity) >= 0 {
				t.Fatalf("quotas: %+v", s.Quotas)
			}
			for key, value := range q.Limits {
				if err := CheckQuota(key, value); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
