package state

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// ACL allows or denies a principal an operation on a resource of the Kafka listener, in Kafka's words.
type ACL = command.ACL

// The words of an ACL, as Kafka has them. A resource has the operations that Kafka checks on it, and "all".
var (
	operations = map[string][]string{
		"topic":            {"all", "read", "write", "create", "delete", "alter", "describe", "describe_configs", "alter_configs"},
		"group":            {"all", "read", "delete", "describe"},
		"cluster":          {"all", "create", "alter", "describe", "cluster_action", "describe_configs", "alter_configs", "idempotent_write"},
		"transactional_id": {"all", "write", "describe"},
	}
	patterns    = []string{"literal", "prefixed"}
	permissions = []string{"allow", "deny"}
)

// ClusterResource is the name of the one resource of type cluster.
const ClusterResource = "kafka-cluster"

const (
	maxACLs      = 10_000 // a guess: ten for each of a thousand programs
	maxACLText   = 512    // bytes of a name or principal; Kafka has no bound, the subject of a certificate is about a hundred
	anyPrincipal = "User:*"
)

// CheckACL says what is wrong with an ACL.
func CheckACL(a ACL) error {
	allowed, ok := operations[a.Resource]
	_, name, typed := strings.Cut(a.Principal, ":")
	switch {
	case !ok:
		return invalid("resource", "%q is none: topic, group, cluster or transactional_id", a.Resource)
	case a.Name == "" || len(a.Name) > maxACLText:
		return invalid("name", "%d bytes, 1 to %d are allowed", len(a.Name), maxACLText)
	case !utf8.ValidString(a.Name): // the agreed list could not tell it from others
		return invalid("name", "%q is no UTF-8", a.Name)
	case !utf8.ValidString(a.Principal):
		return invalid("principal", "%q is no UTF-8", a.Principal)
	case !slices.Contains(patterns, a.Pattern):
		return invalid("pattern", "%q is none: literal or prefixed", a.Pattern)
	case a.Resource == "cluster" && (a.Name != ClusterResource || a.Pattern != "literal"):
		return invalid("name", "%q (%s) is no cluster: the only one is %s, literal", a.Name, a.Pattern, ClusterResource)
	case !typed || name == "" || !strings.HasPrefix(a.Principal, "User:") || len(a.Principal) > maxACLText:
		return invalid("principal", "%q, want User:NAME, or %s for everybody", a.Principal, anyPrincipal)
	case a.Host != "*" && !isAddress(a.Host):
		return invalid("host", "%q is no IP address and not *", a.Host)
	case !slices.Contains(allowed, a.Operation):
		return invalid("operation", "%q is none of a %s: %s", a.Operation, a.Resource, strings.Join(allowed, ", "))
	case !slices.Contains(permissions, a.Permission):
		return invalid("permission", "%q is none: allow or deny", a.Permission)
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (s *State) createACLs(cmd command.CreateACLs) (any, error) {
	acls := slices.Clone(s.ACLs)
	have := make(map[ACL]bool, len(acls))
	for _, a := range acls {
		have[a] = true
	}
	for _, a := range cmd.ACLs {
		if err := CheckACL(a); err != nil {
			return nil, err
		}
		if !have[a] {
			have[a] = true
			acls = append(acls, a)
		}
	}
	if len(acls) > maxACLs {
		return nil, invalid("acls", "%d would be too many, at most %d are allowed: use prefixed ones, or User:*", len(acls), maxACLs)
	}
	s.ACLs = acls
	return nil, nil
}

// deleteACLs returns those that were there.
func (s *State) deleteACLs(cmd command.DeleteACLs) (any, error) {
	gone := make(map[ACL]bool, len(cmd.ACLs))
	for _, a := range cmd.ACLs {
		gone[a] = true
	}
	removed, kept := []ACL{}, []ACL{}
	for _, a := range s.ACLs {
		if gone[a] {
			removed = append(removed, a)
		} else {
			kept = append(kept, a)
		}
	}
	s.ACLs = kept
	return removed, nil
}
