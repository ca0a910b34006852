package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func groupsCommand() *cobra.Command {
	c := group("groups", "List and describe consumer groups")
	b := brokerFlags(c)
	c.AddCommand(groupsList(b), groupsDescribe(b))
	return c
}

type groupRow struct {
	Group    string `json:"group"`
	State    string `json:"state"`
	Protocol string `json:"protocol"`
	Members  int    `json:"members"`
	Lag      int64  `json:"lag"` // records that are not read yet, over all partitions
}

func groupsList(b *brokerReach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the consumer groups", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				lags, err := adm.Lag(c.Context())
				if err != nil {
					return err
				}
				rows := []groupRow{}
				for _, l := range lags.Sorted() {
					rows = append(rows, groupRow{Group: l.Group, State: l.State, Protocol: l.ProtocolType, Members: len(l.Members), Lag: l.Lag.Total()})
				}
				t := table{head: []string{"GROUP", "STATE", "MEMBERS", "LAG"}}
				for _, r := range rows {
					t.add(r.Group, r.State, number(int64(r.Members)), number(r.Lag))
				}
				return show(c, asJSON, map[string]any{"groups": rows}, t.print)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

type lagRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"` // -1: nothing committed
	End       int64  `json:"end"`
	Lag       int64  `json:"lag"`
	Member    string `json:"member,omitempty"`
	Host      string `json:"host,omitempty"`
}

type groupDoc struct {
	Group      string   `json:"group"`
	State      string   `json:"state"`
	Partitions []lagRow `json:"partitions"`
}

func groupsDescribe(b *brokerReach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "describe GROUP", Short: "Show what a group has read of each partition", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				lags, err := adm.Lag(c.Context(), args[0])
				if err != nil {
					return err
				}
				l, ok := lags[args[0]]
				if !ok || l.State == "Dead" {
					return fmt.Errorf("there is no group %q; \"weir groups list\" shows them", args[0])
				}
				if err := l.Error(); err != nil {
					return fmt.Errorf("describe %s: %w", args[0], err)
				}
				doc := groupDoc{Group: l.Group, State: l.State, Partitions: []lagRow{}}
				for _, p := range l.Lag.Sorted() {
					row := lagRow{Topic: p.Topic, Partition: p.Partition, Committed: p.Commit.At, End: p.End.Offset, Lag: p.Lag}
					if p.Member != nil {
						row.Member, row.Host = p.Member.MemberID, p.Member.ClientHost
					}
					doc.Partitions = append(doc.Partitions, row)
				}
				return show(c, asJSON, doc, doc.print)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func (d groupDoc) print(w io.Writer) {
	fmt.Fprintf(w, "%s  %s\n\n", d.Group, d.State)
	t := table{head: []string{"TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "HOST"}}
	for _, p := range d.Partitions {
		t.add(p.Topic, number(int64(p.Partition)), number(p.Committed), number(p.End), number(p.Lag), p.Member, p.Host)
	}
	t.print(w)
}
