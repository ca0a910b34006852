package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// aclFlags choose ACLs, or say what one is to be.
type aclFlags struct {
	principals, operations           []string
	topics, groups, transactionalIDs []string
	cluster, prefixed, deny          bool
	host                             string
}

func (f *aclFlags) bind(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.principals, "principal", nil, "who, such as User:ada, User:CN=backup or User:* for everybody; may be given more than once")
	c.Flags().StringSliceVar(&f.operations, "operation", nil, "what, separated by commas: read, write, create, delete, alter, describe, describe_configs, alter_configs, cluster_action, idempotent_write or all")
	c.Flags().StringSliceVar(&f.topics, "topic", nil, "on these topics, * for all")
	c.Flags().StringSliceVar(&f.groups, "group", nil, "on these consumer groups, * for all")
	c.Flags().StringSliceVar(&f.transactionalIDs, "transactional-id", nil, "on these transactional ids, * for all")
	c.Flags().BoolVar(&f.cluster, "cluster", false, "on the cluster as a whole")
	c.Flags().BoolVar(&f.prefixed, "prefixed", false, "names are beginnings of names")
	c.Flags().BoolVar(&f.deny, "deny", false, "deny instead of allow")
	c.Flags().StringVar(&f.host, "host", "", "from this IP address only")
}

type aclResource struct{ kind, name string }

func (f *aclFlags) resources() (list []aclResource) {
	for kind, names := range map[string][]string{"topic": f.topics, "group": f.groups, "transactional_id": f.transactionalIDs} {
		for _, name := range names {
			list = append(list, aclResource{kind, name})
		}
	}
	if f.cluster {
		list = append(list, aclResource{"cluster", state.ClusterResource})
	}
	return list
}

// aclWord turns a word into the protocol's number for it.
func aclWord[N ~int8](flag, value string, parse func(string) (N, error)) (N, error) {
	n, err := parse(value)
	if err != nil {
		return n, usagef("%s: %q is none: see --help", flag, value)
	}
	return n, nil
}

func aclCommand() *cobra.Command {
	c := group("acl", "Say what Kafka clients may do")
	b := brokerFlags(c)
	c.AddCommand(aclAdd(b), aclList(b), aclRemove(b))
	return c
}

func aclAdd(b *brokerReach) *cobra.Command {
	var f aclFlags
	c := &cobra.Command{
		Use: "add", Short: "Allow or deny somebody something", Args: exactly(0),
		Long: `Allow or deny principals operations on resources. To consume needs read on the topic and on the group; to produce needs write on
the topic. One that denies goes before all that allow.`,
		Example: "  weir acl add --principal User:ada --operation read --topic events --group dashboards\n" +
			"  weir acl add --principal User:shop --operation write --topic shop. --prefixed",
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.creations()
			if err != nil {
				return err
			}
			return b.request(c.Context(), q, func(r kmsg.Response) error {
				for _, result := range r.(*kmsg.CreateACLsResponse).Results {
					if err := aclError(result.ErrorCode, result.ErrorMessage); err != nil {
						return err
					}
				}
				fmt.Fprintf(c.OutOrStdout(), "added %d\n", len(q.Creations))
				return nil
			})
		},
	}
	f.bind(c)
	return c
}

func (f *aclFlags) creations() (*kmsg.CreateACLsRequest, error) {
	q := kmsg.NewPtrCreateACLsRequest()
	resources := f.resources()
	switch {
	case len(f.principals) == 0:
		return nil, usagef("say who with --principal User:NAME")
	case len(f.operations) == 0:
		return nil, usagef("say what with --operation, such as --operation read")
	case len(resources) == 0:
		return nil, usagef("say on what with --topic, --group, --transactional-id or --cluster")
	}
	for _, principal := range f.principals {
		for _, operation := range f.operations {
			op, err := aclWord("--operation", operation, kmsg.ParseACLOperation)
			if err != nil {
				return nil, err
			}
			for _, resource := range resources {
				kind, err := aclWord("resource", resource.kind, kmsg.ParseACLResourceType)
				if err != nil {
					return nil, err
				}
				one := kmsg.NewCreateACLsRequestCreation()
				one.ResourceType, one.ResourceName, one.ResourcePatternType = kind, resource.name, kmsg.ACLResourcePatternTypeLiteral
				if f.prefixed && resource.kind != "cluster" {
					one.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
				}
				one.Principal, one.Host, one.Operation, one.PermissionType = principal, "*", op, kmsg.ACLPermissionTypeAllow
				if f.host != "" {
					one.Host = f.host
				}
				if f.deny {
					one.PermissionType = kmsg.ACLPermissionTypeDeny
				}
				q.Creations = append(q.Creations, one)
			}
		}
	}
	return q, nil
}

// filters are what the flags choose: every combination, and everything where a flag is left out.
func (f *aclFlags) filters() (list []kmsg.DeleteACLsRequestFilter, err error) {
	each := func(values []string) []*string {
		if len(values) == 0 {
			return []*string{nil}
		}
		var out []*string
		for _, v := range values {
			out = append(out, &v)
		}
		return out
	}
	resources := f.resources()
	if len(resources) == 0 {
		resources = []aclResource{{kind: "any"}}
	}
	for _, principal := range each(f.principals) {
		for _, operation := range each(f.operations) {
			for _, resource := range resources {
				one := kmsg.NewDeleteACLsRequestFilter()
				one.Principal, one.Operation, one.PermissionType = principal, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
				one.ResourcePatternType = kmsg.ACLResourcePatternTypeAny
				if one.ResourceType, err = aclWord("resource", resource.kind, kmsg.ParseACLResourceType); err != nil {
					return nil, err
				}
				if resource.name != "" {
					one.ResourceName = &resource.name
				}
				if operation != nil {
					if one.Operation, err = aclWord("--operation", *operation, kmsg.ParseACLOperation); err != nil {
						return nil, err
					}
				}
				if f.prefixed {
					one.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
				}
				if f.deny {
					one.PermissionType = kmsg.ACLPermissionTypeDeny
				}
				if f.host != "" {
					one.Host = &f.host
				}
				list = append(list, one)
			}
		}
	}
	return list, nil
}

type aclRow struct {
	Permission string `json:"permission"`
	Principal  string `json:"principal"`
	Operation  string `json:"operation"`
	Resource   string `json:"resource"`
	Name       string `json:"name"`
	Pattern    string `json:"pattern"`
	Host       string `json:"host"`
}

func aclList(b *brokerReach) *cobra.Command {
	var f aclFlags
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List what is allowed and denied, or what the flags choose of it", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			filters, err := f.filters()
			if err != nil {
				return err
			}
			rows := []aclRow{}
			for _, filter := range filters {
				q := kmsg.NewPtrDescribeACLsRequest()
				q.ResourceType, q.ResourceName, q.ResourcePatternType = filter.ResourceType, filter.ResourceName, filter.ResourcePatternType
				q.Principal, q.Host, q.Operation, q.PermissionType = filter.Principal, filter.Host, filter.Operation, filter.PermissionType
				err := b.request(c.Context(), q, func(r kmsg.Response) error {
					described := r.(*kmsg.DescribeACLsResponse)
					for _, res := range described.Resources {
						for _, a := range res.ACLs {
							rows = append(rows, aclRow{
								strings.ToLower(a.PermissionType.String()), a.Principal, strings.ToLower(a.Operation.String()),
								strings.ToLower(res.ResourceType.String()), res.ResourceName, strings.ToLower(res.ResourcePatternType.String()), a.Host,
							})
						}
					}
					return aclError(described.ErrorCode, described.ErrorMessage)
				})
				if err != nil {
					return err
				}
			}
			t := table{head: []string{"PERMISSION", "PRINCIPAL", "OPERATION", "RESOURCE", "NAME", "PATTERN", "HOST"}}
			for _, r := range rows {
				t.add(r.Permission, r.Principal, r.Operation, r.Resource, r.Name, r.Pattern, r.Host)
			}
			return show(c, asJSON, map[string]any{"acls": rows}, t.print)
		},
	}
	f.bind(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func aclRemove(b *brokerReach) *cobra.Command {
	var f aclFlags
	c := &cobra.Command{
		Use: "remove", Short: "Remove what the flags choose", Args: exactly(0),
		Example: "  weir acl remove --principal User:ada",
		RunE: func(c *cobra.Command, _ []string) error {
			filters, err := f.filters()
			if err != nil {
				return err
			}
			if len(f.principals)+len(f.operations)+len(f.resources()) == 0 {
				return usagef("say which: --principal, --operation, --topic, --group, --transactional-id or --cluster")
			}
			q := kmsg.NewPtrDeleteACLsRequest()
			q.Filters = filters
			return b.request(c.Context(), q, func(r kmsg.Response) error {
				removed := 0
				for _, result := range r.(*kmsg.DeleteACLsResponse).Results {
					if err := aclError(result.ErrorCode, result.ErrorMessage); err != nil {
						return err
					}
					removed += len(result.MatchingACLs)
				}
				fmt.Fprintf(c.OutOrStdout(), "removed %d\n", removed)
				return nil
			})
		},
	}
	f.bind(c)
	return c
}

func aclError(code int16, text *string) error {
	message := ""
	if text != nil {
		message = *text
	}
	return plain(kerr.ErrorForCode(code), message)
}

// request sends one request of the protocol and hands its answer to f.
func (b *brokerReach) request(ctx context.Context, q kmsg.Request, f func(kmsg.Response) error) error {
	client, err := b.client(ctx, kgo.RequestRetries(3))
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := client.Request(ctx, q)
	if err != nil {
		return err
	}
	return f(r)
}
