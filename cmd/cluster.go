package cmd

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	log "github.com/weir-analytics/weir/broker"
)

func clusterCommand() *cobra.Command {
	c := group("cluster", "Look at the nodes of a cluster, let nodes join, remove nodes")
	r := reachFlags(c)
	c.AddCommand(clusterStatus(r), clusterToken(r), clusterRemove(r))
	return c
}

func clusterStatus(r *reach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Print the nodes, what they lead, and how many partitions are not as they should be", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var doc log.ClusterStatus
			if err := a.call(c.Context(), http.MethodGet, "/api/v1/cluster", nil, &doc); err != nil {
				return err
			}
			return show(c, asJSON, doc, func(w io.Writer) { printCluster(w, doc) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func printCluster(w io.Writer, doc log.ClusterStatus) {
	t := table{head: []string{"NODE", "PEER", "KAFKA", "REPLICAS", "LEADS", "LAGGING", "NOTE"}}
	for _, n := range doc.Nodes {
		note := ""
		if n.ID == doc.Controller {
			note = "controller"
		}
		t.add(number(int64(n.ID)), n.Peer, n.Kafka, number(int64(n.Replicas)), number(int64(n.Leads)), number(int64(n.Lagging)), note)
	}
	t.print(w)
	fmt.Fprintf(w, "\n%d partitions are open; %d have no leader, %d have a replica that lags\n", doc.Partitions, doc.Leaderless, doc.Lagging)
}

func clusterToken(r *reach) *cobra.Command {
	holds := 24 * time.Hour
	c := &cobra.Command{
		Use: "token", Short: "Make a token with which nodes join, and print it: it is shown this once", Args: exactly(0),
		Example: "  weir cluster token --holds 1h\n  weir serve --data /var/lib/weir --peer 10.0.0.2:9094 --join 10.0.0.1:9094 --join-token TOKEN",
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			if holds < time.Second {
				return usagef("--holds: %s, at least 1s is allowed", holds)
			}
			var doc struct {
				Token   string    `json:"token"`
				Expires time.Time `json:"expires"`
			}
			if err := a.call(c.Context(), http.MethodPost, "/api/v1/cluster/tokens", map[string]any{"seconds": int64(holds / time.Second)}, &doc); err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), doc.Token)
			fmt.Fprintf(c.ErrOrStderr(), "whoever has it may join until %s\n", doc.Expires.Format(time.RFC3339))
			return nil
		},
	}
	c.Flags().DurationVar(&holds, "holds", holds, "for how long nodes may join with it, up to 720h")
	return c
}

func clusterRemove(r *reach) *cobra.Command {
	return &cobra.Command{
		Use: "remove NODE", Short: "End the membership of a node for ever: its replicas are made anew on others", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			return a.call(c.Context(), http.MethodDelete, "/api/v1/cluster/nodes/"+url.PathEscape(args[0]), nil, nil)
		},
	}
}
