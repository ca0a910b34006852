package hit

import (
	_ "embed"
	"fmt"
)

// Version is what this package writes into field 1.
const Version = 1

//go:embed hit.proto
var schema string

// Schema returns the protobuf definition of the record, for clients that generate their own reader.
func Schema() string { return schema }

// Kind says what happened. Every kind is a hit; which column it is counted in is decided by rollup.
type Kind uint8

// Kinds. The numbers are part of the format.
const (
	Pageview   Kind = 1 // a page was shown; in an imported log: GET, status 200 or 304, not an asset
	Event      Kind = 2 // custom event; Name says which
	Click      Kind = 3 // a short link was followed
	Request    Kind = 4 // a line of an imported log that is not a page view
	Engagement Kind = 5 // how far and how long an earlier page view was read: belongs to that page view and is not one itself
)

var kindNames = [...]string{"", "pageview", "event", "click", "request", "engagement"}

// String returns the name used in JSON.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if i != 0 && name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown kind of hit %q", text)
}

// ID is the identity of a hit that ingest gave it: a source that counts upwards. Of one source the sequences arrive in order within a
// partition, but not densely. A hit whose sequence is at or below the highest one seen of its source is a repeat.
type ID struct {
	Source string `json:"source,omitempty"` // boot of a node, or fingerprint of an imported file
	Seq    uint64 `json:"seq,omitempty"`    // from 1
}

// Campaign is what the utm_ parameters of the page's address said.
type Campaign struct {
	Source  string `json:"source,omitempty"`
	Medium  string `json:"medium,omitempty"`
	Name    string `json:"name,omitempty"`
	Term    string `json:"term,omitempty"`
	Content string `json:"content,omitempty"`
}

// Revenue is an amount of money, as text so that no digit is lost.
type Revenue struct {
	Currency string `json:"currency,omitempty"` // ISO 4217, upper case
	Amount   string `json:"amount,omitempty"`   // decimal number such as 19.90 or -3
}

// Hit is one record of the topic events. The empty string and zero mean "not known" or "none" in every field.
type Hit struct {
	Version uint32 `json:"version"`

	ID       ID     `json:"id,omitzero"`         // given by ingest; not set when ClientID is
	ClientID string `json:"client_id,omitempty"` // given by the sender, unique within the site; a second hit with it is a repeat

	SiteID uint32 `json:"site_id"`
	Site   string `json:"site"`

	TimeMs     int64 `json:"time_ms"`     // when it happened, Unix milliseconds
	ReceivedMs int64 `json:"received_ms"` // when ingest took it in, Unix milliseconds

	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // of an event

	Visitor     uint64 `json:"visitor,string"`                // 0: no visitor is known (a log line without an address)
	VisitorNext uint64 `json:"visitor_next,string,omitempty"` // the same visitor under the next salt, around a change of salts

	Host     string `json:"host,omitempty"`     // of the page or of the short link, lower case
	Path     string `json:"path,omitempty"`     // percent-decoded once; with "#" and the fragment where the sender routes by it
	Query    string `json:"query,omitempty"`    // as sent, without "?", personal parts masked
	Fragment string `json:"fragment,omitempty"` // only where the sender routes by it
	Title    string `json:"title,omitempty"`

	Referrer string `json:"referrer,omitempty"` // cleaned address
	RefHost  string `json:"ref_host,omitempty"` // its host, lower case, without "www.": the site's own for a page of the same site

	Link string `json:"link,omitempty"` // short link followed
	Dest string `json:"dest,omitempty"` // where it leads

	Country string `json:"country,omitempty"` // ISO 3166-1 alpha-2
	Region  string `json:"region,omitempty"`
	City    string `json:"city,omitempty"`

	RegionCode string `json:"region_code,omitempty"` // ISO 3166-2, such as GB-ENG
	ASN        uint32 `json:"asn,omitempty"`         // autonomous system that the visitor's address belongs to
	ASName     string `json:"as_name,omitempty"`     // whose it is

	Agent          string            `json:"agent,omitempty"` // User-Agent as sent
	Hints          map[string]string `json:"hints,omitempty"` // client hints by lower-case header name
	Browser        string            `json:"browser,omitempty"`
	BrowserVersion string            `json:"browser_version,omitempty"`
	OS             string            `json:"os,omitempty"`
	OSVersion      string            `json:"os_version,omitempty"`
	Device         string            `json:"device,omitempty"` // desktop, mobile, tablet, tv, console, wearable, bot, tool

	Bot     bool   `json:"bot,omitempty"`
	BotKind string `json:"bot_kind,omitempty"` // why it is one: agent, headless, prefetch, ...

	Status int `json:"status,omitempty"` // HTTP status of a log line

	Props    map[string]string `json:"props,omitempty"`
	Campaign Campaign          `json:"campaign,omitzero"`
	Revenue  Revenue           `json:"revenue,omitzero"`

	ClickID     string `json:"click_id,omitempty"`     // name of the click id in the page's address, such as gclid; its value is not kept
	Language    string `json:"language,omitempty"`     // BCP 47, such as de or pt-BR
	ScreenWidth int    `json:"screen_width,omitempty"` // CSS pixels

	ScrollPercent  int   `json:"scroll_percent,omitempty"`  // of an engagement: 1 to 100
	EngagedMs      int64 `json:"engaged_ms,omitempty"`      // of an engagement
	NonInteractive bool  `json:"non_interactive,omitempty"` // the event happened by itself: it does not end a bounce

	agent []byte // see SetAgent
}

// Human reports whether the hit counts as a person's.
func (h *Hit) Human() bool { return !h.Bot }
