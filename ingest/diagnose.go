package ingest

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/enrich"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/visitor"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Question asks what would become of a page view. r in Diagnose is the request that is judged.
type Question struct {
	Site     state.Site
	URL      string
	Referrer string
}

// Diagnosis says what is seen of a visitor and what would be recorded. It holds the visitor's address: it is for whoever asked, and is neither
// kept nor logged.
type Diagnosis struct {
	Peer     string              `json:"peer"`    // who sent the request
	Address  string              `json:"address"` // of the visitor
	Header   string              `json:"header"`  // that the address is from; empty: the connection
	Headers  map[string][]string `json:"headers"` // those that speak of addresses, as they came
	Steps    []clientip.Step     `json:"steps"`   // how the address is found
	Trusted  []string            `json:"trusted"` // networks of trusted proxies
	Hops     int                 `json:"trusted_hops"`
	First    string              `json:"client_header"` // that goes before all others
	Traffic  Traffic             `json:"traffic"`
	Geo      enrich.PlacesStatus `json:"geo"`
	GeoDays  int                 `json:"geo_age_days"`
	Networks enrich.PlacesStatus `json:"networks"`
	NetDays  int                 `json:"networks_age_days"`
	SaltDay  string              `json:"salt_day"` // of the site's zone
	Salted   bool                `json:"salted"`   // the cluster has agreed on the day's salt
	Hit      hit.Hit             `json:"hit"`      // that would be recorded; without the visitor's key
	Advice   []string            `json:"advice"`   // what is wrong and what to do
	ServerAt time.Time           `json:"server_time"`
}

// Diagnose judges a page view that came with a request, and records nothing.
func (i *Ingest) Diagnose(r *http.Request, q Question) Diagnosis {
	s, now := i.cfg.Sites.State(), i.cfg.Now()
	t := &intake{i: i, state: s, days: i.days.Days(s), receivedMs: now.UnixMilli()}
	client := i.clients.Resolve(r)
	d := Diagnosis{Header: client.From, Headers: map[string][]string{}, Geo: i.places.Status(), Networks: i.networks.Status(), ServerAt: now.UTC(),
		Steps: i.clients.Explain(r), Trusted: []string{}, Hops: i.cfg.TrustedHops, First: i.cfg.ClientHeader, Traffic: i.proxies.traffic()}
	if client.Peer.IsValid() {
		d.Peer = client.Peer.String()
	}
	if client.Addr.IsValid() {
		d.Address = client.Addr.String()
	}
	for _, name := range append(i.clients.Headers(), "Via") {
		if values := r.Header[name]; len(values) > 0 {
			d.Headers[name] = values
		}
	}
	d.GeoDays, d.NetDays = daysSince(d.Geo.Built, now), daysSince(d.Networks.Built, now)
	for _, network := range i.cfg.TrustedProxies {
		d.Trusted = append(d.Trusted, network.String())
	}
	zone, err := time.LoadLocation(q.Site.Timezone)
	if err != nil {
		zone = time.UTC
	}
	d.SaltDay = now.In(zone).Format(time.DateOnly)
	_, d.Salted = s.Salt(state.Day(d.SaltDay))

	page := pageurl.Parse(q.URL)
	d.Hit = hit.Hit{Version: hit.Version, Kind: hit.Pageview, Host: page.Host, Path: page.Path, Query: page.Query, Campaign: pageurl.Campaign(page.Query), ClickID: pageurl.ClickID(page.Query),
		Hints: hints(r.Header), Language: dialect.Language(first(r.Header["Accept-Language"]))}
	kind := bot.Request(r.Method, r.Header)
	if q.Referrer != "" {
		from := newReferrer(q.Referrer)
		kind = from.set(&d.Hit, kind)
	}
	a := newAgent(pageurl.Cut(pageurl.Printable(r.UserAgent()), maxAgentBytes))
	t.describe(&d.Hit, q.Site, visitor.Who{Addr: client.Addr, Agent: a.sum}, a, kind)
	applyHints(&d.Hit, r.Header)
	d.Hit.Visitor, d.Hit.VisitorNext = 0, 0
	d.advise(client.Addr)
	return d
}

func daysSince(built, now time.Time) int {
	if built.IsZero() {
		return 0
	}
	return int(now.Sub(built) / (24 * time.Hour))
}

// advise says why something is not known, and what to do.
func (d *Diagnosis) advise(addr netip.Addr) {
	say := func(format string, args ...any) { d.Advice = append(d.Advice, fmt.Sprintf(format, args...)) }
	d.Advice = []string{}
	switch {
	case d.Header == clientip.Unusable:
		say("a proxy stands in front and names no address that can be used: let it set X-Forwarded-For to the address of its client")
	case len(d.Headers) > 0 && d.Header != "" && d.First == "":
		d.adviseCDN(addr, say)
	case d.Header == "" && len(d.Headers) > 0 && d.Peer != "":
		say("%s sends headers about the visitor's address and is not believed: if it is your proxy, name it with --trusted-proxies %s", d.Peer, d.Peer)
	case !addr.IsValid():
		say("the request came without an address, as through the admin socket: countries are unknown for such hits")
	}
	if hop, named := d.insideHop(); hop > 0 {
		say("%s is taken for the visitor and is an address inside of your network; it names %s: if it is a proxy of yours too, believe it with --trusted-proxies %s, or with --trusted-hops %d",
			addr, named, addr, hop)
	} else if addr.IsValid() && (isInside(addr) || addr.IsLoopback()) {
		say("%s is an address inside of your network, which has no country: if all visitors come from it, a proxy hides them", addr)
	}
	if t := d.Traffic; t.Requests >= suspicious && t.Inside*10 >= t.Requests*9 {
		say("%d of %d requests since the node's start came from addresses inside of your network, as if a proxy or a container network stood in front of all visitors: "+
			"let it set X-Forwarded-For, and name it with --trusted-proxies", t.Inside, t.Requests)
	}
	if d.Geo.Error != "" {
		say("the country database: %s", d.Geo.Error)
	}
	if d.Networks.Error != "" {
		say("the database of networks: %s", d.Networks.Error)
	}
	switch {
	case d.Geo.Source == "":
		say("there is no country database: give one with --geoip FILE")
	case d.Hit.Country == "" && addr.IsValid() && !isInside(addr) && !addr.IsLoopback():
		say("the country database does not know this address")
	}
	if d.GeoDays > 400 {
		say("the country database is %d days old: get a newer one", d.GeoDays)
	}
	if d.NetDays > 400 {
		say("the database of networks is %d days old: get a newer one", d.NetDays)
	}
	if !d.Salted {
		say("no salt is agreed on for %s: is the node's clock right?", d.SaltDay)
	}
	if d.Hit.Bot {
		say("the hit is set apart as a bot's, of kind %s", d.Hit.BotKind)
	}
}

// insideHop finds a visitor from inside of the network who names somebody else in the header that told him. hop is how many hops have to be
// trusted for that one to be the visitor, 0 when there is nobody.
func (d *Diagnosis) insideHop() (hop int, named string) {
	for i, step := range d.Steps {
		if step.What != clientip.Visitor || i == 0 || i+1 >= len(d.Steps) || d.Steps[i+1].What != clientip.Beyond || d.Steps[i+1].Header != step.Header {
			continue
		}
		if addr, ok := clientip.Parse(step.Text); ok && isInside(addr) {
			return i + 1, d.Steps[i+1].Text
		}
	}
	return 0, ""
}

// adviseCDN says when a header that only a content network sets names somebody else than the one that won.
func (d *Diagnosis) adviseCDN(addr netip.Addr, say func(string, ...any)) {
	for _, step := range d.Steps {
		if step.What != clientip.NotAsked || step.Header == "X-Forwarded-For" || step.Header == "Forwarded" || step.Header == "X-Real-Ip" {
			continue
		}
		if other, ok := clientip.Parse(step.Text); ok && other != addr {
			say("%s names another address, %s: if all visitors come through the network that sets it, start the node with --client-header %s", step.Header, other, step.Header)
			return
		}
	}
}
