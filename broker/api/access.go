package api

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Access says who may do what, beside the ACLs, credentials and quotas that the cluster agreed on.
type Access struct {
	// Enforced has ACLs looked at. Without it everybody who gets through to a listener may do everything.
	Enforced bool
	Policy   acl.Policy
	// Reauthenticate is how long a log-in holds; 0 is for as long as the connection.
	Reauthenticate time.Duration
}

// errNotLoggedIn closes a connection that asks for something before the log-in that its listener wants, or after it is over.
var errNotLoggedIn = errors.New("not logged in")

// admit is the first thing that happens to a request: it refuses what comes without a log-in where one is needed, or on one that is over.
func (h *Handler) admit(req *wire.Request) error {
	if req.Client.Local {
		return nil
	}
	switch req.Key {
	case keyAPIVersions, keySASLHandshake, keySASLAuthenticate:
		return nil
	}
	login, _ := req.Client.Session.State.(*login)
	switch {
	case req.Client.Principal == "":
		return fmt.Errorf("%w: key %d needs a log-in", errNotLoggedIn, req.Key)
	case login == nil || login.user == "":
		return nil
	case !login.expires.IsZero() && h.cfg.Now().After(login.expires):
		return fmt.Errorf("%w: the log-in of %q is over and was not repeated", errNotLoggedIn, login.user)
	}
	if _, ok := h.backend.Access().State().Credentials[login.user]; !ok {
		return fmt.Errorf("%w: user %q was removed", errNotLoggedIn, login.user)
	}
	return nil
}

// ruleSet is the rules made of one list.
type ruleSet struct {
	list  []state.ACL
	rules *acl.Rules
}

// currentRules are those of the cluster's list. A list is never changed, so that its place in memory tells it from others.
func (h *Handler) currentRules() *acl.Rules {
	list := h.backend.Access().State().ACLs
	if made := h.rules.Load(); made != nil && len(made.list) == len(list) && unsafe.SliceData(made.list) == unsafe.SliceData(list) {
		return made.rules
	}
	made := &ruleSet{list: list, rules: acl.New(list, h.cfg.Access.Policy)}
	h.rules.Store(made)
	return made.rules
}

// may reports whether who asks may do op on a resource.
func (h *Handler) may(req *wire.Request, resource acl.Resource, name string, op acl.Operation) bool {
	c := &req.Client
	if c.Local || !h.cfg.Access.Enforced {
		return true
	}
	return h.currentRules().Allowed(c.Principal, c.Host, resource, name, op)
}

// denials are the errors of the protocol for what one may not do, by type of resource.
var denials = map[acl.Resource]*kerr.Error{
	acl.Topic: kerr.TopicAuthorizationFailed, acl.Group: kerr.GroupAuthorizationFailed,
	acl.Cluster: kerr.ClusterAuthorizationFailed, acl.TransactionalID: kerr.TransactionalIDAuthorizationFailed,
}

// authorize returns nil when who asks may do op on a resource, and else the error that says so.
func (h *Handler) authorize(req *wire.Request, resource acl.Resource, name string, op acl.Operation) error {
	if h.may(req, resource, name, op) {
		return nil
	}
	h.metrics.denied.WithLabelValues(string(resource)).Inc()
	return denials[resource]
}

// denied returns why who asks may not do op on a topic that was named, or found by its id; an id that nothing was found by is nobody's.
func (h *Handler) denied(req *wire.Request, name string, topic *Topic, op acl.Operation) error {
	switch {
	case topic != nil:
		name = topic.Name
	case name == "":
		return nil
	}
	return h.authorize(req, acl.Topic, name, op)
}

// authorizeCluster is authorize for the cluster itself.
func (h *Handler) authorizeCluster(req *wire.Request, op acl.Operation) error {
	return h.authorize(req, acl.Cluster, state.ClusterResource, op)
}

// mayWriteSomewhere reports whether there may be a topic that who asks may write to.
func (h *Handler) mayWriteSomewhere(req *wire.Request) bool {
	c := &req.Client
	return c.Local || !h.cfg.Access.Enforced || h.currentRules().AllowedSomewhere(c.Principal, c.Host, acl.Topic, acl.Write)
}

// What can be done with a resource of a type, for the bits that tell a client what it may do.
var (
	clusterOperations = []acl.Operation{acl.Create, acl.Alter, acl.Describe, acl.ClusterAction, acl.DescribeConfigs, acl.AlterConfigs, acl.IdempotentWrite}
	topicOperations   = []acl.Operation{acl.Read, acl.Write, acl.Create, acl.Delete, acl.Alter, acl.Describe, acl.DescribeConfigs, acl.AlterConfigs}
	groupOperations   = []acl.Operation{acl.Read, acl.Delete, acl.Describe, acl.DescribeConfigs, acl.AlterConfigs}
)

// operations returns, as bits numbered by operation, which of list who asks may do on a resource.
func (h *Handler) operations(req *wire.Request, resource acl.Resource, name string, list []acl.Operation) int32 {
	var bits int32
	for _, op := range list {
		if h.may(req, resource, name, op) {
			bits |= 1 << op
		}
	}
	return bits
}

func newDenied() *prometheus.CounterVec {
	denied := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_broker_denied_total", Help: "What Kafka clients asked for and may not do, by type of resource."}, []string{"resource"})
	for resource := range denials {
		denied.WithLabelValues(string(resource))
	}
	return denied
}
