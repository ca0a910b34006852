package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// quotaFlags name an entity and its limits. The words of the limits are Kafka's.
type quotaFlags struct {
	user, clientID         string
	allUsers, allClientIDs bool
	produce, fetch         int64
	request                float64
}

func (f *quotaFlags) bindEntity(c *cobra.Command) {
	c.Flags().StringVar(&f.user, "user", "", "of this user: the NAME of User:NAME in ACLs")
	c.Flags().StringVar(&f.clientID, "client-id", "", "of this client id")
	c.Flags().BoolVar(&f.allUsers, "each-user", false, "of every user who has none of their own")
	c.Flags().BoolVar(&f.allClientIDs, "each-client-id", false, "of every client id that has none of its own")
}

func (f *quotaFlags) bindLimits(c *cobra.Command) {
	c.Flags().Int64Var(&f.produce, "producer-byte-rate", 0, "bytes a second that may be written")
	c.Flags().Int64Var(&f.fetch, "consumer-byte-rate", 0, "bytes a second that may be read")
	c.Flags().Float64Var(&f.request, "request-percentage", 0, "time of the processor that requests may take, in percent of one core")
}

const (
	quotaUser     = "user"
	quotaClientID = "client-id"
)

// entity is who the flags name; nil as a name is the default.
func (f *quotaFlags) entity() (parts []kmsg.AlterClientQuotasRequestEntryEntity, err error) {
	for _, part := range []struct {
		kind, name, each string
		isDefault        bool
	}{{quotaUser, f.user, "each-user", f.allUsers}, {quotaClientID, f.clientID, "each-client-id", f.allClientIDs}} {
		if part.isDefault && part.name != "" {
			return nil, usagef("--%s and --%s exclude each other", part.kind, part.each)
		}
		if !part.isDefault && part.name == "" {
			continue
		}
		e := kmsg.NewAlterClientQuotasRequestEntryEntity()
		e.Type = part.kind
		if !part.isDefault {
			e.Name = &part.name
		}
		parts = append(parts, e)
	}
	if len(parts) == 0 {
		return nil, usagef("say whose: --user NAME, --client-id ID, --each-user or --each-client-id; one of a user together with one of a client id is both together")
	}
	return parts, nil
}

func (f *quotaFlags) limits(c *cobra.Command) (ops []kmsg.AlterClientQuotasRequestEntryOp, err error) {
	for flag, limit := range map[string]struct {
		key   string
		value float64
	}{
		"producer-byte-rate": {state.QuotaProduce, float64(f.produce)},
		"consumer-byte-rate": {state.QuotaFetch, float64(f.fetch)},
		"request-percentage": {state.QuotaRequest, f.request},
	} {
		if !c.Flags().Changed(flag) {
			continue
		}
		if limit.value <= 0 {
			return nil, usagef("--%s: %v, more than 0 is allowed; \"weir quota remove\" takes a limit away", flag, limit.value)
		}
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Value = limit.key, limit.value
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil, usagef("say how much: --producer-byte-rate, --consumer-byte-rate or --request-percentage")
	}
	return ops, nil
}

func quotaCommand() *cobra.Command {
	c := group("quota", "Say how much of the node Kafka clients may use")
	b := brokerFlags(c)
	c.AddCommand(quotaSet(b), quotaList(b), quotaRemove(b))
	return c
}

func quotaSet(b *brokerReach) *cobra.Command {
	var f quotaFlags
	c := &cobra.Command{
		Use: "set", Short: "Limit what a user or a client id may use", Args: exactly(0),
		Long: `Limit what a user, a client id, or a user with a client id may use of each node. A client that goes over is answered, and then left alone
until it is within the limit again. The most exact limit counts.`,
		Example: "  weir quota set --user shop --producer-byte-rate 1000000\n" +
			"  weir quota set --each-user --consumer-byte-rate 10000000 --request-percentage 50",
		RunE: func(c *cobra.Command, _ []string) error {
			ops, err := f.limits(c)
			if err != nil {
				return err
			}
			if err := alterQuota(c, b, &f, ops); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "set %d\n", len(ops))
			return nil
		},
	}
	f.bindEntity(c)
	f.bindLimits(c)
	return c
}

func alterQuota(c *cobra.Command, b *brokerReach, f *quotaFlags, ops []kmsg.AlterClientQuotasRequestEntryOp) error {
	entity, err := f.entity()
	if err != nil {
		return err
	}
	q := kmsg.NewPtrAlterClientQuotasRequest()
	q.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: entity, Ops: ops}}
	return b.request(c.Context(), q, func(r kmsg.Response) error {
		for _, e := range r.(*kmsg.AlterClientQuotasResponse).Entries {
			if err := aclError(e.ErrorCode, e.ErrorMessage); err != nil {
				return err
			}
		}
		return nil
	})
}

type quotaRow struct {
	User         *string            `json:"user,omitempty"`      // absent: whoever; "": everybody without one of their own
	ClientID     *string            `json:"client_id,omitempty"` // likewise
	Limits       map[string]float64 `json:"limits"`
	user, client string
}

func quotaList(b *brokerReach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the limits", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			rows, err := quotaRows(c, b, nil)
			if err != nil {
				return err
			}
			t := table{head: []string{"USER", "CLIENT ID", "LIMIT", "VALUE"}}
			for _, r := range rows {
				for _, key := range []string{state.QuotaProduce, state.QuotaFetch, state.QuotaRequest} {
					if value, ok := r.Limits[key]; ok {
						t.add(r.user, r.client, key, strconv.FormatFloat(value, 'f', -1, 64))
					}
				}
			}
			return show(c, asJSON, map[string]any{"quotas": rows}, t.print)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// quotaRows lists the limits of an entity, or all with a nil one.
func quotaRows(c *cobra.Command, b *brokerReach, of []kmsg.AlterClientQuotasRequestEntryEntity) ([]quotaRow, error) {
	q := kmsg.NewPtrDescribeClientQuotasRequest()
	for _, part := range of {
		filter := kmsg.NewDescribeClientQuotasRequestComponent()
		filter.EntityType, filter.Match = part.Type, part.Name
		if part.Name == nil {
			filter.MatchType = 1 // the default
		}
		q.Components, q.Strict = append(q.Components, filter), true
	}
	rows := []quotaRow{}
	err := b.request(c.Context(), q, func(r kmsg.Response) error {
		described := r.(*kmsg.DescribeClientQuotasResponse)
		for _, e := range described.Entries {
			rows = append(rows, quotaRowOf(e))
		}
		return aclError(described.ErrorCode, described.ErrorMessage)
	})
	return rows, err
}

func quotaRowOf(e kmsg.DescribeClientQuotasResponseEntry) quotaRow {
	r := quotaRow{Limits: make(map[string]float64), user: "any", client: "any"}
	for _, part := range e.Entity {
		name, shown := "", "each"
		if part.Name != nil {
			name, shown = *part.Name, strconv.Quote(*part.Name)
		}
		if part.Type == quotaUser {
			r.User, r.user = &name, shown
		} else {
			r.ClientID, r.client = &name, shown
		}
	}
	for _, v := range e.Values {
		r.Limits[v.Key] = v.Value
	}
	return r
}

func quotaRemove(b *brokerReach) *cobra.Command {
	var f quotaFlags
	keys := []string{state.QuotaProduce, state.QuotaFetch, state.QuotaRequest}
	var only []string
	c := &cobra.Command{
		Use: "remove", Short: "Take limits away, all of somebody's unless --limit names some", Args: exactly(0),
		Example: "  weir quota remove --user shop --limit producer_byte_rate",
		RunE: func(c *cobra.Command, _ []string) error {
			entity, err := f.entity()
			if err != nil {
				return err
			}
			for _, key := range only {
				if !slices.Contains(keys, key) {
					return usagef("--limit: %q is none: %s", key, strings.Join(keys, ", "))
				}
			}
			rows, err := quotaRows(c, b, entity)
			if err != nil {
				return err
			}
			var ops []kmsg.AlterClientQuotasRequestEntryOp
			for _, row := range rows {
				for _, key := range slices.Sorted(maps.Keys(row.Limits)) {
					if len(only) == 0 || slices.Contains(only, key) {
						op := kmsg.NewAlterClientQuotasRequestEntryOp()
						op.Key, op.Remove = key, true
						ops = append(ops, op)
					}
				}
			}
			if len(ops) == 0 {
				return errors.New("there is no such limit: see \"weir quota list\"")
			}
			if err := alterQuota(c, b, &f, ops); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "removed %d\n", len(ops))
			return nil
		},
	}
	f.bindEntity(c)
	c.Flags().StringSliceVar(&only, "limit", nil, "these alone, separated by commas: "+strings.Join(keys, ", "))
	return c
}
