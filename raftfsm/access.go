package raftfsm

import (
	"context"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// CreateACLs adds those of acls that are not there.
func (c *Controller) CreateACLs(ctx context.Context, acls []state.ACL) error {
	_, err := change[any](ctx, c, command.CreateACLs{ACLs: acls})
	return err
}

// DeleteACLs removes those of acls that are there, and returns them.
func (c *Controller) DeleteACLs(ctx context.Context, acls []state.ACL) ([]state.ACL, error) {
	return change[[]state.ACL](ctx, c, command.DeleteACLs{ACLs: acls})
}

// SetCredential adds or replaces what proves a Kafka user's password to one mechanism.
func (c *Controller) SetCredential(ctx context.Context, user, mechanism string, keys state.Credential) error {
	_, err := change[any](ctx, c, command.SetCredential{
		User: user, Mechanism: mechanism, Salt: keys.Salt, Iterations: keys.Iterations, StoredKey: keys.StoredKey, ServerKey: keys.ServerKey,
	})
	return err
}

// DeleteCredential removes it.
func (c *Controller) DeleteCredential(ctx context.Context, user, mechanism string) error {
	_, err := change[any](ctx, c, command.DeleteCredential{User: user, Mechanism: mechanism})
	return err
}

// AlterQuota sets and removes limits of an entity.
func (c *Controller) AlterQuota(ctx context.Context, e state.QuotaEntity, set map[string]float64, remove []string) error {
	_, err := change[any](ctx, c, command.AlterQuota{User: e.User, ClientID: e.ClientID, Set: set, Remove: remove})
	return err
}
