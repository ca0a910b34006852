package state

import (
	"fmt"
	"maps"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// New returns the state before the first command.
func New() *State {
	s := &State{
		Brokers: map[int32]Broker{}, Topics: map[string]Topic{}, Sites: map[SiteID]Site{}, Users: map[string]User{},
		Credentials: map[string]Credentials{}, Tokens: map[uint64]Token{}, Salts: map[Day]Salt{}, NextSiteID: 1, NextTokenID: 1, NextProducerID: 1000,
	}
	s.Reindex()
	return s
}

// Apply returns the state after cmd, proposed at now, and the command's result: the added or changed Topic, Site, User, Token, Broker or Node,
// a SetupResult, the []Link put, the removed []ACL, the first of the allocated producer ids (int64), or nil. On error the state is s itself, which is never changed.
// Errors are ErrExists, ErrNotFound, ErrSetupDone, ErrInvalid, or command.ErrUnsupported, after which a replica must stop.
func (s *State) Apply(cmd command.Command, now time.Time) (*State, any, error) {
	next := *s
	next.Version++
	result, err := next.apply(cmd, now)
	if err != nil {
		return s, nil, err
	}
	return &next, result, nil
}

// apply changes s, a shallow copy: each map is cloned before it is written to.
func (s *State) apply(cmd command.Command, now time.Time) (any, error) {
	switch cmd := cmd.(type) {
	case command.InitCluster:
		return s.initCluster(cmd)
	case command.RegisterBroker:
		return s.registerBroker(cmd)
	case command.CreateTopic:
		return s.createTopic(cmd, now)
	case command.DeleteTopic:
		return s.deleteTopic(cmd)
	case command.SetTopicConfigs:
		return s.setTopicConfigs(cmd)
	case command.AddPartitions:
		return s.addPartitions(cmd)
	case command.CreateACLs:
		return s.createACLs(cmd)
	case command.DeleteACLs:
		return s.deleteACLs(cmd)
	case command.SetCredential:
		return s.setCredential(cmd)
	case command.DeleteCredential:
		return s.deleteCredential(cmd)
	case command.AlterQuota:
		return s.alterQuota(cmd)
	case command.AddSite:
		return s.addSite(cmd, now)
	case command.UpdateSite:
		return s.updateSite(cmd)
	case command.DeleteSite:
		return s.deleteSite(cmd)
	case command.AddUser:
		return s.addUser(cmd, now)
	case command.SetPassword:
		return s.setPassword(cmd)
	case command.DeleteUser:
		return s.deleteUser(cmd)
	case command.AddToken:
		return s.addToken(cmd, now)
	case command.DeleteToken:
		return s.deleteToken(cmd)
	case command.AllocateProducerIDs:
		return s.allocateProducerIDs(cmd)
	case command.AgreeSalts:
		return s.agreeSalts(cmd)
	case command.PutLinks:
		return s.putLinks(cmd, now)
	case command.DeleteLink:
		return s.deleteLink(cmd)
	case command.CompleteSetup:
		return s.completeSetup(cmd, now)
	case command.SetAuthority:
		return s.setAuthority(cmd)
	case command.AddJoinToken:
		return s.addJoinToken(cmd, now)
	case command.JoinNode:
		return s.joinNode(cmd, now)
	case command.RemoveNode:
		return s.removeNode(cmd)
	case command.AssignReplicas:
		return s.assignReplicas(cmd)
	case command.OpenPartitions:
		return s.openPartitions(cmd)
	}
	return nil, fmt.Errorf("apply %T: %w", cmd, command.ErrUnsupported)
}

// SetupResult is what the first-run set-up added.
type SetupResult struct {
	User User
	Site Site
}

func (s *State) completeSetup(cmd command.CompleteSetup, now time.Time) (any, error) {
	if len(s.Users) > 0 {
		return nil, ErrSetupDone
	}
	user, err := s.addUser(cmd.User, now)
	if err != nil {
		return nil, err
	}
	if user.Role != RoleAdmin {
		return nil, invalid("role", "the first user is an administrator, not %q", user.Role)
	}
	site, err := s.addSite(cmd.Site, now)
	if err != nil {
		return nil, err
	}
	return SetupResult{User: user, Site: site}, nil
}

func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}

func without[K comparable, V any](m map[K]V, k K) map[K]V {
	m = maps.Clone(m)
	delete(m, k)
	return m
}
