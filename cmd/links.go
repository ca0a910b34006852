package cmd

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type linkDoc struct {
	ID        string     `json:"id,omitempty"`
	Slug      string     `json:"slug"`
	Domain    string     `json:"domain,omitempty"`
	Site      string     `json:"site,omitempty"`
	Dest      string     `json:"dest"`
	Status    int        `json:"status,omitempty"`
	PassQuery bool       `json:"pass_query,omitempty"`
	PassPath  bool       `json:"pass_path,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

type putLinksDoc struct {
	Links   []linkDoc `json:"links"`
	Replace bool      `json:"replace,omitempty"`
}

func linksCommand() *cobra.Command {
	c := group("links", "Add, list, import and remove short links")
	r := reachFlags(c)
	c.AddCommand(linksAdd(r), linksList(r), linksImport(r), linksRemove(r))
	return c
}

const siteOfLinks = "site whose clicks they are"

func linksAdd(r *reach) *cobra.Command {
	var site, expires string
	var link linkDoc
	var replace bool
	c := &cobra.Command{
		Use: "add --site NAME DEST", Short: "Add a short link that leads to an address", Args: exactly(1),
		Long: `Add a short link: GET /l/SLUG of any node leads to DEST and counts a click of the site. Without --slug one is drawn.
With --domain it answers at that host only, so that another domain may have the same slug.`,
		Example: "  weir links add --site shop.example.com --slug spring https://shop.example.com/sale?utm_source=poster",
		RunE: func(c *cobra.Command, args []string) error {
			if site == "" {
				return usagef("--site: say which site the clicks are of; \"weir site list\" shows them")
			}
			var err error
			if link.ExpiresAt, err = moment(expires, time.Now()); err != nil {
				return usagef("--expires: %w", err)
			}
			link.Dest = args[0]
			a, err := r.connect()
			if err != nil {
				return err
			}
			var out putLinksDoc
			if err := a.call(c.Context(), http.MethodPost, sitePath(site)+"/links", putLinksDoc{[]linkDoc{link}, replace}, &out); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s leads to %s\n", printable(out.Links[0].where()), printable(out.Links[0].Dest))
			return nil
		},
	}
	c.Flags().StringVar(&site, "site", "", siteOfLinks)
	c.Flags().StringVar(&link.Slug, "slug", "", "what stands behind /l/ (default: one is drawn)")
	c.Flags().StringVar(&link.Domain, "domain", "", "answer at this host only")
	c.Flags().IntVar(&link.Status, "status", http.StatusFound, "302; 301 says that it is for ever; 307 keeps the method")
	c.Flags().StringVar(&expires, "expires", "", "when it ends: an instant such as 2026-12-31T23:00:00Z, or 30d, 12h from now")
	c.Flags().BoolVar(&link.PassQuery, "pass-query", false, "pass on parameters that the destination does not have")
	c.Flags().BoolVar(&link.PassPath, "pass-path", false, "pass on what stands behind the slug")
	c.Flags().BoolVar(&replace, "replace", false, "change the link when it is there")
	return c
}

// where is the address of a link, as far as a command knows it.
func (l *linkDoc) where() string { return l.Domain + "/l/" + l.Slug }

// moment reads an instant, or a time from now; "" is none.
func moment(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return &at, nil
	}
	var d time.Duration
	if err := (daysValue{&d}).Set(text); err != nil || d == 0 {
		return nil, fmt.Errorf("%q is neither an instant such as 2026-12-31T23:00:00Z nor a time from now such as 30d or 12h", text)
	}
	at := now.Add(d).UTC()
	return &at, nil
}

func linksList(r *reach) *cobra.Command {
	var site, last string
	var asJSON bool
	c := &cobra.Command{
		Use: "list [--site NAME]", Short: "List the short links, with the clicks of people and of programs", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var doc putLinksDoc
			if err := a.call(c.Context(), http.MethodGet, "/api/v1/links?"+url.Values{"site": {site}}.Encode(), nil, &doc); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(doc)
			}
			counts := map[string]map[string]countRow{} // site, id
			t := table{head: []string{"LINK", "SITE", "CLICKS", "VISITORS", "BOTS", "LEADS TO", "EXPIRES"}}
			for _, l := range doc.Links {
				if counts[l.Site] == nil {
					if counts[l.Site], err = linkCounts(c, a, l.Site, last); err != nil {
						return err
					}
				}
				n, expires := counts[l.Site][l.ID], "never"
				if l.ExpiresAt != nil {
					expires = l.ExpiresAt.Format(time.RFC3339)
				}
				t.add(l.where(), l.Site, number(n.Clicks), number(n.Visitors), number(n.Bots), l.Dest, expires)
			}
			t.print(c.OutOrStdout())
			return nil
		},
	}
	c.Flags().StringVar(&site, "site", "", "only those of this site")
	c.Flags().StringVar(&last, "last", "12mo", "clicks of the last 120m, 48h, 31d or 12mo")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document, without counts")
	return c
}

func linkCounts(c *cobra.Command, a *api, site, last string) (map[string]countRow, error) {
	var doc countsDoc
	query := url.Values{"last": {last}, "limit": {"100000"}}
	if err := a.call(c.Context(), http.MethodGet, sitePath(site)+"/links?"+query.Encode(), nil, &doc); err != nil {
		return nil, err
	}
	rows := map[string]countRow{}
	for _, row := range doc.Rows {
		rows[row.Key] = row
	}
	return rows, nil
}

func linksRemove(r *reach) *cobra.Command {
	var domain string
	c := &cobra.Command{
		Use: "remove SLUG", Short: "Remove a short link: it leads nowhere from now on, and its clicks stay counted", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			path := "/api/v1/links/" + url.PathEscape(args[0]) + "?" + url.Values{"domain": {domain}}.Encode()
			if err := a.call(c.Context(), http.MethodDelete, path, nil, nil); err != nil {
				return err
			}
			l := linkDoc{Slug: args[0], Domain: domain}
			fmt.Fprintf(c.OutOrStdout(), "removed %s\n", l.where())
			return nil
		},
	}
	c.Flags().StringVar(&domain, "domain", "", "of the link, when it answers at one host only")
	return c
}

func linksImport(r *reach) *cobra.Command {
	var site, domain string
	var replace bool
	c := &cobra.Command{
		Use: "import --site NAME FILE", Short: "Add the short links of a CSV file with the columns slug and dest", Args: exactly(1),
		Long: `Add the short links of a CSV file. Its first line names the columns: slug (also keyword, key, shortCode) and dest (also url, longUrl,
destination); status, expires, domain, pass_query and pass_path may be there too. "-" is standard input.
Links are added some hundred at a time; when one is refused the message says how many are added, and nothing of its hundred is.
With --replace the same file may be sent again.`,
		Example: "  weir links import --site shop.example.com links.csv",
		RunE: func(c *cobra.Command, args []string) error {
			if site == "" {
				return usagef("--site: say which site the clicks are of; \"weir site list\" shows them")
			}
			in := c.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			links, err := readLinks(in, domain)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			a, err := r.connect()
			if err != nil {
				return err
			}
			for done := 0; done < len(links); {
				n := fitting(links[done:])
				if err := a.call(c.Context(), http.MethodPost, sitePath(site)+"/links", putLinksDoc{links[done : done+n], replace}, nil); err != nil {
					return fmt.Errorf("%d of %d links are added; of the next %d none was: %w", done, len(links), n, err)
				}
				done += n
			}
			fmt.Fprintf(c.OutOrStdout(), "added %d links\n", len(links))
			return nil
		},
	}
	c.Flags().StringVar(&site, "site", "", siteOfLinks)
	c.Flags().StringVar(&domain, "domain", "", "answer at this host only, where the file names none")
	c.Flags().BoolVar(&replace, "replace", false, "change links that are there")
	return c
}

// fitting returns how many of the links fit into one request: a body of the API has at most 64 KiB.
func fitting(links []linkDoc) int {
	const room = 60 << 10
	size := 0
	for i := range links {
		one, err := json.Marshal(&links[i])
		if err != nil {
			panic("BUG: a link is not JSON: " + err.Error())
		}
		if size += len(one) + 1; size > room && i > 0 {
			return i
		}
	}
	return len(links)
}

// columns of a file of links, with the names that other services give them.
var linkColumns = map[string][]string{
	"slug": {"slug", "keyword", "key", "shortcode", "short_code"}, "dest": {"dest", "destination", "url", "longurl", "long_url"},
	"status": {"status"}, "expires": {"expires", "expires_at", "expiresat", "validuntil"}, "domain": {"domain", "host"},
	"pass_query": {"pass_query", "forwardquery"}, "pass_path": {"pass_path"},
}

func readLinks(in io.Reader, domain string) ([]linkDoc, error) {
	rows := csv.NewReader(in)
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read the names of the columns: %w", err)
	}
	at := map[string]int{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		for column, names := range linkColumns {
			if _, have := at[column]; !have && slices.Contains(names, name) {
				at[column] = i
			}
		}
	}
	if _, ok := at["dest"]; !ok {
		return nil, fmt.Errorf("the first line names no column dest, but %q", strings.Join(head, ","))
	}
	var links []linkDoc
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return links, nil
		}
		if err != nil {
			return nil, err
		}
		link, err := linkOfRow(row, at, domain)
		if err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		links = append(links, link)
	}
}

func linkOfRow(row []string, at map[string]int, domain string) (linkDoc, error) {
	get := func(column string) string {
		if i, ok := at[column]; ok {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	link := linkDoc{Slug: get("slug"), Dest: get("dest"), Domain: domain, PassQuery: isYes(get("pass_query")), PassPath: isYes(get("pass_path"))}
	if own := get("domain"); own != "" {
		link.Domain = own
	}
	var err error
	if text := get("status"); text != "" {
		if link.Status, err = strconv.Atoi(text); err != nil {
			return link, fmt.Errorf("status: %q is no number", text)
		}
	}
	if link.ExpiresAt, err = moment(get("expires"), time.Now()); err != nil {
		return link, fmt.Errorf("expires: %w", err)
	}
	return link, nil
}

func isYes(text string) bool {
	yes, err := strconv.ParseBool(text)
	return err == nil && yes || strings.EqualFold(text, "yes")
}
