package source

import (
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// Channel is a kind of sources.
type Channel string

// Channels.
const (
	Direct     Channel = "Direct"
	Internal   Channel = "Internal" // from a page of the site itself: begins no visit
	Search     Channel = "Organic Search"
	PaidSearch Channel = "Paid Search"
	Social     Channel = "Organic Social"
	PaidSocial Channel = "Paid Social"
	Assistant  Channel = "AI Assistants"
	Email      Channel = "Email"
	Video      Channel = "Organic Video"
	Shopping   Channel = "Organic Shopping"
	App        Channel = "App"
	Display    Channel = "Display"
	Affiliate  Channel = "Affiliates"
	Referral   Channel = "Referral"
	Campaign   Channel = "Campaign" // a campaign of some other kind
)

// Names of what has no source of its own.
const (
	NameDirect   = "(direct)"
	NameInternal = "(internal)"
)

// Visit is what is known of where a visit came from.
type Visit struct {
	RefHost  string // hit.Hit.RefHost
	Referrer string // hit.Hit.Referrer; only its scheme matters
	Query    string // of the page
	Campaign hit.Campaign
	Site     string // its name
	Host     string // of the page
}

// OfHit is Of for a stored hit.
func OfHit(h *hit.Hit) (name string, channel Channel) {
	return Of(Visit{RefHost: h.RefHost, Referrer: h.Referrer, Query: h.Query, Campaign: h.Campaign, Site: h.Site, Host: h.Host})
}

// Of names the source of a visit, and its channel. A source that the page's own address names goes before the referrer.
func Of(v Visit) (name string, channel Channel) {
	paid, clickSource := clickID(v.Query)
	text := strings.TrimSpace(v.Campaign.Source)
	if text == "" {
		text = v.RefHost
		if text != "" && v.Campaign == (hit.Campaign{}) && isInternal(text, v) {
			return NameInternal, Internal
		}
	}
	if text == "" || isInternal(text, v) {
		text = clickSource
	}
	app := strings.HasPrefix(v.Referrer, "android-app://") || strings.HasPrefix(v.Referrer, "ios-app://")
	known, ok := lookUp(text)
	name = known.name
	if !ok {
		name = plainName(text)
	}
	return name, channelOf(known.kind, v.Campaign.Medium, name, paid, app)
}

// isInternal reports whether a host is the site's own.
func isInternal(host string, v Visit) bool {
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	return host != "" && (host == v.Site || host == strings.TrimPrefix(v.Host, "www."))
}

// plainName is the name of a source that is in no list.
func plainName(text string) string {
	if text == "" {
		return NameDirect
	}
	return strings.TrimPrefix(strings.ToLower(text), "www.")
}

// channelOf decides by the medium first: whoever tags a link knows best.
func channelOf(kind Channel, medium, name string, paid, app bool) Channel {
	medium = strings.ToLower(strings.TrimSpace(medium))
	switch medium {
	case "cpc", "ppc", "paid", "paidsearch", "paid-search", "paid_search", "retargeting", "cpa", "sem":
		paid = true
	case "paid-social", "paid_social", "paidsocial":
		return PaidSocial
	case "email", "e-mail", "e_mail", "newsletter", "mail":
		return Email
	case "display", "banner", "cpm", "interstitial", "expandable":
		return Display
	case "affiliate", "affiliates":
		return Affiliate
	case "social", "social-network", "social-media", "sm", "social_network", "social_media":
		kind = Social
	case "organic":
		kind = Search
	case "video":
		kind = Video
	case "referral", "link", "app":
		if kind == "" {
			kind = Referral
		}
	}
	switch {
	case paid && (kind == Social || kind == Video):
		return PaidSocial
	case paid:
		return PaidSearch
	case kind != "":
		return kind
	case app:
		return App
	case name == NameDirect && medium == "":
		return Direct
	case medium != "":
		return Campaign
	}
	return Referral
}

// clickIDs are parameters that advertising networks add to addresses, with the source they stand for. Not all mean that somebody paid.
var clickIDs = map[string]struct {
	source string
	paid   bool
}{
	"gclid": {"google.com", true}, "gbraid": {"google.com", true}, "wbraid": {"google.com", true}, "dclid": {"google.com", true},
	"msclkid": {"bing.com", true}, "ttclid": {"tiktok.com", true}, "twclid": {"twitter.com", true}, "li_fat_id": {"linkedin.com", true},
	"yclid": {"yandex.ru", true}, "rdt_cid": {"reddit.com", true}, "epik": {"pinterest.com", true}, "scclid": {"snapchat.com", true},
	"fbclid": {"facebook.com", false}, "igshid": {"instagram.com", false}, "igsh": {"instagram.com", false}, "srsltid": {"google.com", false},
}

// clickID finds a click id in a query.
func clickID(query string) (paid bool, source string) {
	if !strings.Contains(query, "id=") && !strings.Contains(query, "igsh=") && !strings.Contains(query, "epik=") {
		return false, ""
	}
	for name, value := range pageurl.Params(query) {
		if id, ok := clickIDs[strings.ToLower(name)]; ok && value != "" {
			if source == "" || id.paid {
				paid, source = paid || id.paid, id.source
			}
		}
	}
	return paid, source
}
