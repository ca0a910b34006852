package raftfsm

import (
	"context"
	"crypto/rand"
	"reflect"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Each method below returns after its change is committed and visible in State. Errors are those of package state, ErrUnavailable
// (not done) and ErrOutcomeUnknown. A context that ends only ends the waiting.

// CreateTopic adds a topic. A replication factor above the number of nodes is refused.
func (c *Controller) CreateTopic(ctx context.Context, spec state.TopicSpec) (state.Topic, error) {
	now := c.State()
	nodes := max(1, len(now.Brokers))
	if int(spec.ReplicationFactor) > nodes {
		return state.Topic{}, invalid("replication_factor", "%d copies need as many nodes; the cluster has %d (-1 takes what there is)", spec.ReplicationFactor, nodes)
	}
	cmd := command.CreateTopic{Name: spec.Name, Partitions: spec.Partitions, ReplicationFactor: spec.ReplicationFactor, Internal: spec.Internal}
	cmd.Replicas = now.PlaceNew(spec.ReplicationFactor, spec.Partitions)
	for key, value := range spec.Configs {
		if value == nil {
			continue
		}
		if cmd.Configs == nil {
			cmd.Configs = map[string]string{}
		}
		cmd.Configs[key] = *value
	}
	rand.Read(cmd.ID[:])
	return change[state.Topic](ctx, c, cmd)
}

// DeleteTopic removes a topic and with it its records.
func (c *Controller) DeleteTopic(ctx context.Context, name string) error {
	_, err := change[any](ctx, c, command.DeleteTopic{Name: name})
	return err
}

// SetTopicConfigs replaces all configuration of a topic by configs.
func (c *Controller) SetTopicConfigs(ctx context.Context, name string, configs map[string]string) error {
	_, err := change[state.Topic](ctx, c, command.SetTopicConfigs{Name: name, Configs: configs})
	return err
}

// AddPartitions raises the number of partitions of a topic to total.
func (c *Controller) AddPartitions(ctx context.Context, name string, total int32) error {
	now := c.State()
	cmd := command.AddPartitions{Name: name, Total: total}
	if t := now.Topics[name]; total > t.Partitions {
		cmd.Replicas = now.PlaceNew(t.ReplicationFactor, total-t.Partitions)
	}
	_, err := change[state.Topic](ctx, c, cmd)
	return err
}

// RegisterBroker says where clients reach a node. It does nothing when that is known already.
func (c *Controller) RegisterBroker(ctx context.Context, b state.Broker) error {
	if reflect.DeepEqual(c.State().Brokers[b.ID], b) {
		return nil
	}
	_, err := change[state.Broker](ctx, c, command.RegisterBroker{ID: b.ID, ServerID: b.ServerID, Host: b.Host, Port: b.Port, Listeners: b.Listeners, Peer: b.Peer})
	return err
}

// AllocateProducerIDs takes n consecutive producer ids that nobody else gets and returns the first.
func (c *Controller) AllocateProducerIDs(ctx context.Context, n int64) (first int64, err error) {
	return change[int64](ctx, c, command.AllocateProducerIDs{Count: n})
}

// AddSite adds a site whose days are those of timezone, an IANA name.
func (c *Controller) AddSite(ctx context.Context, name, timezone string) (state.Site, error) {
	salts, err := c.saltsFor(timezone)
	if err != nil {
		return state.Site{}, err
	}
	return change[state.Site](ctx, c, command.AddSite{Name: name, Timezone: timezone, Salts: salts})
}

// SiteChange says what to change of a site: what is nil stays.
type SiteChange struct {
	Name     *string
	Timezone *string // starts a new generation of the site's hours and days
	Rules    *state.Rules
}

// UpdateSite changes the site of that name.
func (c *Controller) UpdateSite(ctx context.Context, name string, to SiteChange) (state.Site, error) {
	cmd := command.UpdateSite{Name: name, NewName: to.Name, Timezone: to.Timezone, Rules: to.Rules}
	if to.Timezone != nil {
		salts, err := c.saltsFor(*to.Timezone)
		if err != nil {
			return state.Site{}, err
		}
		cmd.Salts = salts
	}
	return change[state.Site](ctx, c, cmd)
}

// DeleteSite removes the site of that name. Its hits stay in the log until retention removes them.
func (c *Controller) DeleteSite(ctx context.Context, name string) error {
	_, err := change[any](ctx, c, command.DeleteSite{Name: name})
	return err
}

// AddUser adds a user by the hash of the password.
func (c *Controller) AddUser(ctx context.Context, email string, role state.Role, passwordHash string) (state.User, error) {
	return change[state.User](ctx, c, command.AddUser{Email: email, Role: string(role), PasswordHash: passwordHash})
}

// SetPassword replaces a user's password hash.
func (c *Controller) SetPassword(ctx context.Context, email, passwordHash string) error {
	_, err := change[state.User](ctx, c, command.SetPassword{Email: email, PasswordHash: passwordHash})
	return err
}

// DeleteUser removes a user. The last administrator stays.
func (c *Controller) DeleteUser(ctx context.Context, email string) error {
	_, err := change[any](ctx, c, command.DeleteUser{Email: email})
	return err
}

// AddToken adds an API token by the SHA-256 of its secret.
func (c *Controller) AddToken(ctx context.Context, name string, scopes []state.Scope, secretHash [32]byte) (state.Token, error) {
	cmd := command.AddToken{Name: name, SecretHash: secretHash}
	for _, scope := range scopes {
		cmd.Scopes = append(cmd.Scopes, string(scope))
	}
	return change[state.Token](ctx, c, cmd)
}

// DeleteToken removes a token; requests that carry it are refused from then on.
func (c *Controller) DeleteToken(ctx context.Context, id uint64) error {
	_, err := change[any](ctx, c, command.DeleteToken{ID: id})
	return err
}

// Setup is what the first-run page asks for.
type Setup struct {
	Email        string
	PasswordHash string
	Site         string
	Timezone     string
}

// CompleteSetup adds the first administrator and the first site together, or neither. It is refused with state.ErrSetupDone once a user exists.
func (c *Controller) CompleteSetup(ctx context.Context, s Setup) (state.User, state.Site, error) {
	salts, err := c.saltsFor(s.Timezone)
	if err != nil {
		return state.User{}, state.Site{}, err
	}
	result, err := change[state.SetupResult](ctx, c, command.CompleteSetup{
		User: command.AddUser{Email: s.Email, Role: string(state.RoleAdmin), PasswordHash: s.PasswordHash},
		Site: command.AddSite{Name: s.Site, Timezone: s.Timezone, Salts: salts},
	})
	return result.User, result.Site, err
}

func (c *Controller) initCluster(ctx context.Context) error {
	if c.State().ClusterID != "" {
		return nil
	}
	cmd := command.InitCluster{ClusterID: c.id.ClusterID}
	rand.Read(cmd.RouteKey[:])
	rand.Read(cmd.ImportKey[:])
	_, err := c.propose(ctx, cmd)
	return err
}

// drawSalts draws a key for each day.
func drawSalts(days []state.Day) command.Salts {
	salts := command.Salts{}
	for _, day := range days {
		var key [16]byte
		rand.Read(key[:])
		salts[string(day)] = key
	}
	return salts
}
