package acl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// parse reads "deny read topic pay* from 10.0.0.1 User:ada" with "from" left out for everywhere; a final ~ makes a name a prefix.
func parse(t *testing.T, line string) state.ACL {
	t.Helper()
	f := strings.Fields(line)
	a := state.ACL{Permission: f[0], Operation: f[1], Resource: f[2], Name: f[3], Pattern: "literal", Host: "*", Principal: f[len(f)-1]}
	if name, ok := strings.CutSuffix(a.Name, "~"); ok {
		a.Name, a.Pattern = name, "prefixed"
	}
	if f[4] == "from" {
		a.Host = f[5]
	}
	if err := state.CheckACL(a); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return a
}

func rules(t *testing.T, policy Policy, lines ...string) *Rules {
	var list []state.ACL
	for _, line := range lines {
		list = append(list, parse(t, line))
	}
	return New(list, policy)
}

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		name  string
		acls  []string
		op    Operation
		on    string
		want  bool
		extra Policy
	}{
		{"nothing allows", nil, Read, "t", false, Policy{}},
		{"nothing names it, and that is enough", nil, Read, "t", true, Policy{AllowIfNone: true}},
		{"somebody else's makes it closed", []string{"allow read topic t User:bob"}, Read, "t", false, Policy{AllowIfNone: true}},
		{"a prefix closes too", []string{"allow read topic t~ User:bob"}, Read, "tt", false, Policy{AllowIfNone: true}},
		{"super user", []string{"deny all topic * User:*"}, Read, "t", true, Policy{SuperUsers: []string{"User:ada"}}},
		{"literal", []string{"allow read topic t User:ada"}, Read, "t", true, Policy{}},
		{"literal of another", []string{"allow read topic t User:ada"}, Read, "tt", false, Policy{}},
		{"another operation", []string{"allow read topic t User:ada"}, Write, "t", false, Policy{}},
		{"another type", []string{"allow read group t User:ada"}, Read, "t", false, Policy{}},
		{"all operations", []string{"allow all topic t User:ada"}, AlterConfigs, "t", true, Policy{}},
		{"everybody", []string{"allow read topic t User:*"}, Read, "t", true, Policy{}},
		{"every topic", []string{"allow read topic * User:ada"}, Read, "t", true, Policy{}},
		{"prefix", []string{"allow read topic pay~ User:ada"}, Read, "payments", true, Policy{}},
		{"prefix of another", []string{"allow read topic pay~ User:ada"}, Read, "pa", false, Policy{}},
		{"a prefix of * is no wildcard", []string{"allow read topic *~ User:ada"}, Read, "t", false, Policy{}},
		{"from here", []string{"allow read topic t from 10.0.0.1 User:ada"}, Read, "t", true, Policy{}},
		{"from elsewhere", []string{"allow read topic t from 10.0.0.2 User:ada"}, Read, "t", false, Policy{}},
		{"deny goes before allow", []string{"allow read topic t User:ada", "deny read topic t User:*"}, Read, "t", false, Policy{}},
		{"a denying wildcard goes before a literal", []string{"allow read topic t User:ada", "deny read topic * User:ada"}, Read, "t", false, Policy{}},
		{"a denying prefix goes before a literal", []string{"allow read topic tt User:ada", "deny all topic t~ User:ada"}, Read, "tt", false, Policy{}},
		{"deny from elsewhere", []string{"allow read topic t User:ada", "deny read topic t from 10.9.9.9 User:*"}, Read, "t", true, Policy{}},
		{"who reads may describe", []string{"allow read topic t User:ada"}, Describe, "t", true, Policy{}},
		{"who creates may not", []string{"allow create topic t User:ada"}, Describe, "t", false, Policy{}},
		{"who alters configs may see them", []string{"allow alter_configs topic t User:ada"}, DescribeConfigs, "t", true, Policy{}},
		{"to deny reading is not to deny describing", []string{"allow describe topic t User:ada", "deny read topic t User:ada"}, Describe, "t", true, Policy{}},
	} {
		r := rules(t, c.extra, c.acls...)
		if got := r.Allowed("User:ada", "10.0.0.1", Topic, c.on, c.op); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAllowedSomewhere(t *testing.T) {
	for _, c := range []struct {
		name string
		acls []string
		want bool
	}{
		{"nothing", nil, false},
		{"one topic", []string{"allow write topic t User:ada"}, true},
		{"one topic that is denied", []string{"allow write topic t User:ada", "deny write topic t User:*"}, false},
		{"everything denied", []string{"allow write topic t User:ada", "deny write topic * User:ada"}, false},
		{"a prefix", []string{"allow write topic t~ User:ada"}, true},
		{"a prefix within a denied one", []string{"allow write topic tt~ User:ada", "deny write topic t~ User:ada"}, false},
		{"all but one", []string{"allow write topic * User:ada", "deny write topic t User:ada"}, true},
		{"to read is not to write", []string{"allow read topic * User:ada"}, false},
	} {
		if got := rules(t, Policy{}, c.acls...).AllowedSomewhere("User:ada", "h", Topic, Write); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The index answers as a walk over the list does.
func TestRulesAgreeWithTheListAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 2000 {
		var list []state.ACL
		for range random.IntN(6) {
			list = append(list, state.ACL{
				Resource: one("topic", "group"), Name: one("*", "a", "ab", "b"), Pattern: one("literal", "prefixed"), Host: one("*", "h"),
				Principal: one("User:*", "User:x", "User:y"), Operation: one("all", "read", "delete", "describe"), Permission: one("allow", "allow", "deny"),
			})
		}
		r := New(list, Policy{})
		for _, name := range []string{"a", "ab", "abc", "b"} {
			for word, op := range map[string]Operation{"read": Read, "describe": Describe, "delete": Delete} {
				if got, want := r.Allowed("User:x", "h", Topic, name, op), walk(list, name, word); got != want {
					t.Fatalf("%s %s: %v, want %v of %v", word, name, got, want, list)
				}
			}
		}
	}
}

func walk(list []state.ACL, name, op string) bool {
	allowed := false
	for _, a := range list {
		hit := a.Resource == "topic" && (a.Principal == "User:x" || a.Principal == "User:*") &&
			(a.Pattern == "literal" && (a.Name == name || a.Name == "*") || a.Pattern == "prefixed" && strings.HasPrefix(name, a.Name))
		same := a.Operation == op || a.Operation == "all"
		if hit && same && a.Permission == "deny" {
			return false
		}
		implied := op == "describe" && (a.Operation == "read" || a.Operation == "delete")
		allowed = allowed || hit && a.Permission == "allow" && (same || implied)
	}
	return allowed
}

func TestFilterMatch(t *testing.T) {
	list := []state.ACL{
		parse(t, "allow read topic orders User:ada"), parse(t, "allow read topic ord~ User:ada"), parse(t, "allow read topic * User:bob"),
		parse(t, "deny read topic other User:ada"), parse(t, "allow read group orders User:ada"),
	}
	name, ada := "orders", "User:ada"
	for _, c := range []struct {
		name string
		f    Filter
		want string
	}{
		{"everything", Filter{}, "[0 1 2 3 4]"},
		{"one name", Filter{Name: &name}, "[0 4]"},
		{"whatever speaks of it", Filter{Resource: Topic, Name: &name, Pattern: Match}, "[0 1 2]"},
		{"prefixes", Filter{Pattern: "prefixed"}, "[1]"},
		{"one principal", Filter{Principal: &ada, Resource: Topic}, "[0 1 3]"},
		{"denials", Filter{Permission: "deny", Operation: "read"}, "[3]"},
	} {
		var got []int
		for i, a := range list {
			if c.f.Matches(a) {
				got = append(got, i)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func BenchmarkAllowed(b *testing.B) {
	var list []state.ACL
	for i := range 1000 {
		list = append(list, state.ACL{Resource: "topic", Name: fmt.Sprint("t", i), Pattern: "literal", Principal: fmt.Sprint("User:u", i), Host: "*", Operation: "read", Permission: "allow"})
	}
	r := New(list, Policy{})
	b.ReportAllocs()
	for b.Loop() {
		r.Allowed("User:u500", "10.0.0.1", Topic, "t500", Read)
	}
}
