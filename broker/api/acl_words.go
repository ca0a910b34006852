package api

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// The protocol numbers what the cluster state has words for. kmsg has the same words in upper case.
var (
	aclResources   = words(kmsg.ACLResourceTypeAny, kmsg.ACLResourceTypeDelegationToken, kmsg.ACLResourceType.String)
	aclPatterns    = words(kmsg.ACLResourcePatternTypeAny, kmsg.ACLResourcePatternTypePrefixed, kmsg.ACLResourcePatternType.String)
	aclOperations  = words(kmsg.ACLOperationAny, kmsg.ACLOperationIdempotentWrite, kmsg.ACLOperation.String)
	aclPermissions = words(kmsg.ACLPermissionTypeAny, kmsg.ACLPermissionTypeAllow, kmsg.ACLPermissionType.String)
)

// word is a number of the protocol and its word, both ways.
type word[N ~int8] struct {
	text   map[N]string
	number map[string]N
}

func words[N ~int8](first, last N, name func(N) string) word[N] {
	w := word[N]{text: make(map[N]string), number: make(map[string]N)}
	for n := first; n <= last; n++ {
		text := strings.ToLower(name(n))
		w.text[n], w.number[text] = text, n
	}
	return w
}

// anything is the word in a filter for what does not matter.
const anything = "any"

// chosen is the word of a filter; "" for anything.
func (w word[N]) chosen(what string, n N) (string, error) {
	text, ok := w.text[n]
	switch {
	case !ok:
		return "", refuse(kerr.InvalidRequest, fmt.Sprintf("there is no %s %d", what, n))
	case text == anything:
		return "", nil
	}
	return text, nil
}

// aclFilter reads the filter of DescribeACLs and DeleteACLs, which have the same fields.
func aclFilter(q *kmsg.DescribeACLsRequest, version int16) (acl.Filter, error) {
	f := acl.Filter{Name: q.ResourceName, Principal: q.Principal, Host: q.Host}
	resource, err := aclResources.chosen("type of resource", q.ResourceType)
	if f.Resource = acl.Resource(resource); err != nil {
		return f, err
	}
	if f.Operation, err = aclOperations.chosen("operation", q.Operation); err != nil {
		return f, err
	}
	if f.Permission, err = aclPermissions.chosen("permission", q.PermissionType); err != nil {
		return f, err
	}
	f.Pattern = "literal" // before version 1 there were no others
	if version >= 1 {
		f.Pattern, err = aclPatterns.chosen("pattern", q.ResourcePatternType)
	}
	return f, err
}

// securityDisabled refuses lists of permissions where nobody looks at them, as Kafka does. The node's owner may make them ahead.
func (h *Handler) securityDisabled(local bool) error {
	if local || h.cfg.Access.Enforced {
		return nil
	}
	return refuse(kerr.SecurityDisabled, "nobody is asked who he is on any listener, so that permissions mean nothing")
}

func aclOf(c *kmsg.CreateACLsRequestCreation, version int16) (state.ACL, error) {
	pattern := kmsg.ACLResourcePatternTypeLiteral
	if version >= 1 {
		pattern = c.ResourcePatternType
	}
	a := state.ACL{
		Resource: aclResources.text[c.ResourceType], Name: c.ResourceName, Pattern: aclPatterns.text[pattern], Principal: c.Principal,
		Host: c.Host, Operation: aclOperations.text[c.Operation], Permission: aclPermissions.text[c.PermissionType],
	}
	if err := state.CheckACL(a); err != nil {
		return a, refuse(kerr.InvalidRequest, err.Error())
	}
	return a, nil
}
