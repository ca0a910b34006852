package cmd

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

type siteDoc struct {
	ID          uint32    `json:"id"`
	Name        string    `json:"name"`
	Timezone    string    `json:"timezone"`
	CreatedAt   time.Time `json:"created_at"`
	VisitorsNow int64     `json:"visitors_now"`
	Hits30m     int64     `json:"hits_30m"`
	FirstHit    bool      `json:"first_hit"`
	Rules       *rulesDoc `json:"rules,omitempty"`
}

func siteCommand() *cobra.Command {
	c := group("site", "Add, list, change and remove sites")
	r := reachFlags(c)
	c.AddCommand(siteAdd(r), siteList(r), siteZone(r), siteSet(r), siteRemove(r))
	return c
}

func siteAdd(r *reach) *cobra.Command {
	var zone string
	c := &cobra.Command{
		Use: "add NAME", Short: "Add a site", Args: exactly(1),
		Long:    "Add a site by its host name, such as shop.example.com. Its days and hours are those of --timezone.",
		Example: "  weir site add shop.example.com --timezone Europe/Berlin",
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var site siteDoc
			if err := a.call(c.Context(), http.MethodPost, "/api/v1/sites", map[string]string{"name": args[0], "timezone": zone}, &site); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "added %s (%s)\n", site.Name, site.Timezone)
			return nil
		},
	}
	c.Flags().StringVar(&zone, "timezone", "UTC", "time zone of the site's hours and days, such as Europe/Berlin")
	return c
}

func siteList(r *reach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the sites", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var doc struct {
				Sites []siteDoc `json:"sites"`
			}
			if err := a.call(c.Context(), http.MethodGet, "/api/v1/sites", nil, &doc); err != nil {
				return err
			}
			t := table{head: []string{"SITE", "TIMEZONE", "VISITORS NOW", "HITS IN 30 MIN", "ADDED"}}
			for _, s := range doc.Sites {
				t.add(s.Name, s.Timezone, number(s.VisitorsNow), number(s.Hits30m), s.CreatedAt.Format(time.DateOnly))
			}
			return show(c, asJSON, doc, t.print)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func siteZone(r *reach) *cobra.Command {
	return &cobra.Command{
		Use: "timezone NAME ZONE", Short: "Change the time zone of a site's hours and days", Args: exactly(2),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var site siteDoc
			if err := a.call(c.Context(), http.MethodPatch, sitePath(args[0]), map[string]string{"timezone": args[1]}, &site); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is counted in %s\n", site.Name, site.Timezone)
			return nil
		},
	}
}

func siteRemove(r *reach) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a site: its hits are refused from now on and its counts are not shown any more", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			if err := a.call(c.Context(), http.MethodDelete, sitePath(args[0]), nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "removed %s\n", args[0])
			return nil
		},
	}
}
