package cmd

import (
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// rulesDoc are the rules of a site.
type rulesDoc struct {
	Addresses       []string `json:"addresses,omitempty"`
	Hosts           []string `json:"hosts,omitempty"`
	Paths           []string `json:"paths,omitempty"`
	Referrers       []string `json:"referrers,omitempty"`
	Countries       []string `json:"countries,omitempty"`
	QueryListed     bool     `json:"query_listed,omitempty"`
	Query           []string `json:"query,omitempty"`
	NoTrailingSlash bool     `json:"no_trailing_slash,omitempty"`
	TakeDataCentres bool     `json:"take_datacentres,omitempty"`
}

func siteSet(r *reach) *cobra.Command {
	var to rulesDoc
	query, slash, centres := "all", "keep", "apart"
	c := &cobra.Command{
		Use: "set NAME [--RULE VALUE]...", Short: "Change the rules of a site: what is set apart, and how pages are cleaned", Args: exactly(1),
		Long: `Change the rules of a site that are given, and show all of them. An empty list, such as --own-paths="", takes a rule away.
Rules hold for the hits that come from then on.`,
		Example: `  weir site set shop.example.com --own-addresses 192.0.2.0/24 --own-paths "/admin/*" --keep-query q,page`,
	}
	f := c.Flags()
	f.StringSliceVar(&to.Addresses, "own-addresses", nil, "addresses and `networks` whose hits are set apart")
	f.StringSliceVar(&to.Hosts, "site-hosts", nil, "`hosts` of the site's pages; hits of pages elsewhere are set apart")
	f.StringSliceVar(&to.Paths, "own-paths", nil, "`paths` of pages whose hits are set apart, such as /admin/*")
	f.StringSliceVar(&to.Referrers, "not-referrers", nil, "`hosts`: who comes from there is set apart")
	f.StringSliceVar(&to.Countries, "not-countries", nil, "`codes` of countries whose hits are set apart, such as DE")
	f.StringVar(&query, "keep-query", query, "`parameters` of pages' queries that are kept: all, none, or their names")
	f.Var(oneOfValue{&slash, []string{"keep", "remove"}}, "trailing-slash", "`keep` /a/ and /a apart, or remove the slash")
	f.Var(oneOfValue{&centres, []string{"apart", "count"}}, "datacentres", "hits from data centres are set `apart`, or count")
	c.RunE = func(c *cobra.Command, args []string) error {
		a, err := r.connect()
		if err != nil {
			return err
		}
		var site siteDoc
		if err := a.call(c.Context(), http.MethodGet, sitePath(args[0]), nil, &site); err != nil {
			return err
		}
		rules, changed := rulesDoc{}, false
		if site.Rules != nil {
			rules = *site.Rules
		}
		for name, set := range map[string]func(){
			"own-addresses": func() { rules.Addresses = to.Addresses }, "site-hosts": func() { rules.Hosts = to.Hosts },
			"own-paths": func() { rules.Paths = to.Paths }, "not-referrers": func() { rules.Referrers = to.Referrers },
			"not-countries": func() { rules.Countries = to.Countries }, "keep-query": func() { rules.keepQuery(query) },
			"trailing-slash": func() { rules.NoTrailingSlash = slash == "remove" }, "datacentres": func() { rules.TakeDataCentres = centres == "count" },
		} {
			if f.Changed(name) {
				set()
				changed = true
			}
		}
		if changed {
			site = siteDoc{} // decoding keeps what the answer leaves out
			if err := a.call(c.Context(), http.MethodPatch, sitePath(args[0]), map[string]any{"rules": rules}, &site); err != nil {
				return err
			}
			if rules = (rulesDoc{}); site.Rules != nil {
				rules = *site.Rules
			}
		}
		rules.print(c.OutOrStdout())
		return nil
	}
	return c
}

// keepQuery reads the words of --keep-query.
func (r *rulesDoc) keepQuery(text string) {
	r.QueryListed, r.Query = text != "all", nil
	if text == "all" || text == "none" {
		return
	}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.Query = append(r.Query, name)
		}
	}
}

// print writes the rules with the names of their flags.
func (r *rulesDoc) print(w io.Writer) {
	query, slash, centres := "all", "keep", "apart"
	if r.QueryListed {
		if query = strings.Join(r.Query, ","); query == "" {
			query = "none"
		}
	}
	if r.NoTrailingSlash {
		slash = "remove"
	}
	if r.TakeDataCentres {
		centres = "count"
	}
	t := table{head: []string{"RULE", "VALUE"}}
	for _, row := range [][2]string{
		{"own-addresses", strings.Join(r.Addresses, ",")}, {"site-hosts", strings.Join(r.Hosts, ",")}, {"own-paths", strings.Join(r.Paths, ",")},
		{"not-referrers", strings.Join(r.Referrers, ",")}, {"not-countries", strings.Join(r.Countries, ",")}, {"keep-query", query},
		{"trailing-slash", slash}, {"datacentres", centres},
	} {
		t.add(row[0], row[1])
	}
	t.print(w)
}
