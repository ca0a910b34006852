package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type diagnosisDoc struct {
	Peer       string              `json:"peer"`
	Address    string              `json:"address"`
	Header     string              `json:"header"`
	Headers    map[string][]string `json:"headers"`
	GeoDays    int                 `json:"geo_age_days"`
	SaltDay    string              `json:"salt_day"`
	Advice     []string            `json:"advice"`
	ServerTime time.Time           `json:"server_time"`
	Geo        databaseDoc         `json:"geo"`
	Networks   databaseDoc         `json:"networks"`
	NetDays    int                 `json:"networks_age_days"`
	Steps      []struct {
		Header string `json:"header"`
		Text   string `json:"text"`
		What   string `json:"what"`
	} `json:"steps"`
	Hit map[string]any `json:"hit"`
}

type databaseDoc struct {
	Source string `json:"source"`
}

// show says where places come from.
func (d databaseDoc) show(days int) string {
	if d.Source == "" {
		return "none"
	}
	return fmt.Sprintf("%s, %d days old", d.Source, days)
}

func diagnoseCommand() *cobra.Command {
	var in struct {
		URL       string            `json:"url,omitempty"`
		Referrer  string            `json:"referrer,omitempty"`
		UserAgent string            `json:"user_agent"`
		Peer      string            `json:"peer,omitempty"`
		Headers   map[string]string `json:"headers,omitempty"`
	}
	var headers []string
	var asJSON bool
	c := &cobra.Command{
		Use: "diagnose SITE", Short: "Show what would be recorded of a page view, and why something is unknown", Args: exactly(1),
		Long: `Show which header the visitor's address would be taken from, the country, the browser and the robot verdict, and the hit that would be
recorded. Nothing is recorded, and no address is kept. --peer and --header say how the request arrives.`,
		Example: `  weir diagnose shop.example.com --peer 10.0.0.5 --header "X-Forwarded-For: 81.2.69.142" --page "https://shop.example.com/a?utm_source=x"`,
	}
	r := reachFlags(c)
	c.Flags().StringVar(&in.URL, "page", "", "`address` of the page (default: the site's first)")
	c.Flags().StringVar(&in.Referrer, "referrer", "", "`address` of the page before")
	c.Flags().StringVar(&in.UserAgent, "agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "agent `string` of the browser")
	c.Flags().StringVar(&in.Peer, "peer", "", "`address` that the request arrives from: a visitor, or your proxy")
	c.Flags().StringArrayVar(&headers, "header", nil, "`NAME: VALUE` of the request, as often as needed")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.RunE = func(c *cobra.Command, args []string) error {
		in.Headers = map[string]string{}
		for _, header := range headers {
			name, value, ok := strings.Cut(header, ":")
			if !ok {
				return usagef("--header: %q, want NAME: VALUE", header)
			}
			in.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		began := time.Now()
		var raw json.RawMessage
		if err := a.call(c.Context(), http.MethodPost, sitePath(args[0])+"/diagnose", in, &raw); err != nil {
			return err
		}
		if asJSON {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", raw)
			return err
		}
		var doc diagnosisDoc
		if err := json.Unmarshal(raw, &doc); err != nil {
			return fmt.Errorf("read the answer of %s: %w", a.where, err)
		}
		doc.print(c.OutOrStdout(), began, time.Now())
		return nil
	}
	return c
}

// stepWords say what an address in a request was taken for.
var stepWords = map[string]string{
	"visitor": "the visitor", "proxy": "a trusted proxy", "unreadable": "no address", "beyond": "further away than the visitor, not believed", "not-asked": "not asked",
}

// print writes the diagnosis. asked and answered are by the clock of this machine.
func (d *diagnosisDoc) print(w io.Writer, asked, answered time.Time) {
	or := func(text any, other string) string {
		if text == nil || text == "" {
			return other
		}
		return fmt.Sprint(text)
	}
	t := table{head: []string{"WHAT", "ANSWER"}}
	for _, step := range d.Steps {
		t.add(or(step.Header, "connection"), printable(step.Text)+": "+or(stepWords[step.What], step.What))
	}
	t.add("visitor's address", or(d.Address, "unknown"))
	t.add("taken from", or(d.Header, "the connection"))
	t.add("country", or(d.Hit["country"], "unknown"))
	t.add("country database", d.Geo.show(d.GeoDays))
	t.add("network database", d.Networks.show(d.NetDays))
	t.add("browser", fmt.Sprintf("%s %s on %s, %s", or(d.Hit["browser"], "unknown"), or(d.Hit["browser_version"], ""), or(d.Hit["os"], "unknown"), or(d.Hit["device"], "unknown")))
	t.add("robot", or(d.Hit["bot_kind"], "no"))
	t.add("page", or(d.Hit["host"], "")+or(d.Hit["path"], "/"))
	t.add("query", or(d.Hit["query"], "none"))
	t.add("referrer", or(d.Hit["referrer"], "none"))
	t.add("visitors of", d.SaltDay)
	if ahead := d.ServerTime.Sub(answered); ahead > time.Second {
		t.add("clock", "the node's is ahead of this machine's by "+ahead.Round(time.Second).String())
	} else if behind := asked.Sub(d.ServerTime); behind > time.Second {
		t.add("clock", "the node's is behind this machine's by "+behind.Round(time.Second).String())
	}
	t.print(w)
	for _, advice := range d.Advice {
		fmt.Fprintf(w, "- %s\n", printable(advice))
	}
}
