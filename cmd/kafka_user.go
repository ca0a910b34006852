package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// scramIterations salt a password. The most that Kafka allows: somebody who steals the keys has the most work.
const scramIterations = 16_384

var scramMechanisms = []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512}

func kafkaCommand() *cobra.Command {
	return group("kafka", "Say who may log in to the Kafka listeners", kafkaUserCommand())
}

func kafkaUserCommand() *cobra.Command {
	c := group("user", "Add, list and remove users of the Kafka listeners")
	b := brokerFlags(c)
	c.AddCommand(kafkaUserAdd(b), kafkaUserList(b), kafkaUserPassword(b), kafkaUserRemove(b))
	return c
}

// hasUser asks whether there is a user of that name.
func hasUser(ctx context.Context, adm *kadm.Client, name string) (kadm.DescribedUserSCRAM, bool, error) {
	described, err := adm.DescribeUserSCRAMs(ctx, name)
	if err != nil {
		return kadm.DescribedUserSCRAM{}, false, err
	}
	user := described[name]
	if errors.Is(user.Err, kerr.ResourceNotFound) {
		return user, false, nil
	}
	return user, user.Err == nil, plain(user.Err, user.ErrMessage)
}

// alterUser makes changes to one user's credentials.
func alterUser(ctx context.Context, adm *kadm.Client, del []kadm.DeleteSCRAM, set []kadm.UpsertSCRAM) error {
	altered, err := adm.AlterUserSCRAMs(ctx, del, set)
	if err != nil {
		return err
	}
	for _, a := range altered {
		if a.Err != nil {
			return plain(a.Err, a.ErrMessage)
		}
	}
	return nil
}

// passwords are the credentials of all mechanisms for one password, which stays here: only what is salted is sent.
func passwords(user, password string) (set []kadm.UpsertSCRAM) {
	for _, m := range scramMechanisms {
		set = append(set, kadm.UpsertSCRAM{User: user, Mechanism: m, Iterations: scramIterations, Password: password})
	}
	return set
}

func kafkaUserAdd(b *brokerReach) *cobra.Command {
	var fromStdin bool
	c := &cobra.Command{
		Use: "add NAME", Short: "Add a user who logs in with a password", Args: exactly(1),
		Long: `Add a user who logs in by SCRAM-SHA-256, SCRAM-SHA-512 or PLAIN. What the user may do is said by "weir acl add"; until then
it is nothing.`,
		Example: "  printf '%s' \"$PASSWORD\" | weir kafka user add ada --password-stdin",
		RunE: func(c *cobra.Command, args []string) error {
			return setKafkaPassword(c, b, args[0], fromStdin, false)
		},
	}
	c.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	return c
}

func kafkaUserPassword(b *brokerReach) *cobra.Command {
	var fromStdin bool
	c := &cobra.Command{
		Use: "password NAME", Short: "Give a user another password", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			return setKafkaPassword(c, b, args[0], fromStdin, true)
		},
	}
	c.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	return c
}

// setKafkaPassword sets the password of a user, who must be known or must not.
func setKafkaPassword(c *cobra.Command, b *brokerReach, name string, fromStdin, known bool) error {
	pass, err := password(c.InOrStdin(), fromStdin)
	if err != nil {
		return err
	}
	return b.admin(c.Context(), func(adm *kadm.Client) error {
		_, found, err := hasUser(c.Context(), adm, name)
		switch {
		case err != nil:
			return err
		case known && !found:
			return fmt.Errorf("there is no Kafka user %q: add one with \"weir kafka user add\"", name)
		case !known && found:
			return fmt.Errorf("there is a Kafka user %q already: \"weir kafka user password\" gives another password", name)
		}
		if err := alterUser(c.Context(), adm, nil, passwords(name, pass)); err != nil {
			return err
		}
		if known {
			fmt.Fprintf(c.OutOrStdout(), "%s has another password\n", name)
		} else {
			fmt.Fprintf(c.OutOrStdout(), "added %s, who is User:%s in ACLs\n", name, name)
		}
		return nil
	})
}

func kafkaUserList(b *brokerReach) *cobra.Command {
	var asJSON bool
	type row struct {
		Name       string   `json:"name"`
		Mechanisms []string `json:"mechanisms"`
	}
	c := &cobra.Command{
		Use: "list", Short: "List the users", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				described, err := adm.DescribeUserSCRAMs(c.Context())
				if err != nil {
					return err
				}
				rows := []row{}
				for _, u := range described.Sorted() {
					r := row{Name: u.User}
					for _, info := range u.CredInfos {
						r.Mechanisms = append(r.Mechanisms, info.Mechanism.String())
					}
					rows = append(rows, r)
				}
				t := table{head: []string{"NAME", "MECHANISMS"}}
				for _, r := range rows {
					t.add(r.Name, strings.Join(r.Mechanisms, ","))
				}
				return show(c, asJSON, map[string]any{"users": rows}, t.print)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func kafkaUserRemove(b *brokerReach) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a user; its connections end at their next request", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				user, found, err := hasUser(c.Context(), adm, args[0])
				if err != nil {
					return err
				}
				if !found {
					return fmt.Errorf("there is no Kafka user %q", args[0])
				}
				var del []kadm.DeleteSCRAM
				for _, info := range user.CredInfos {
					del = append(del, kadm.DeleteSCRAM{User: args[0], Mechanism: info.Mechanism})
				}
				if err := alterUser(c.Context(), adm, del, nil); err != nil {
					return err
				}
				fmt.Fprintf(c.OutOrStdout(), "removed %s\n", args[0])
				return nil
			})
		},
	}
}
