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
	Query    string // of the page; looked at where ClickID is empty
	ClickID  string // hit.Hit.ClickID
	Campaign hit.Campaign
	Site     string // its name
	Host     string // of the page
}

// OfHit is Of for a stored hit.
func OfHit(h *hit.Hit) (name string, channel Channel) {
	return Of(Visit{RefHost: h.RefHost, Referrer: h.Referrer, Query: h.Query, ClickID: h.ClickID, Campaign: h.Campaign, Site: h.Site, Host: h.Host})
}

// Of names the source of a visit, and its channel. A source that the page's own address names goes before the referrer.
func Of(v Visit) (name string, channel Channel) {
	if v.ClickID == "" {
		v.ClickID = pageurl.ClickID(v.Query)
	}
	click := clickIDs[v.ClickID]
	text := strings.TrimSpace(v.Campaign.Source)
	if text == "" {
		text = v.RefHost
		if text != "" && v.Campaign == (hit.Campaign{}) && isInternal(text, v) {
			return NameInternal, Internal
		}
	}
	if text == "" || isInternal(text, v) {
		text = click.source
	}
	app := strings.HasPrefix(v.Referrer, "android-app://") || strings.HasPrefix(v.Referrer, "ios-app://")
	known, ok := lookUp(text)
	name = known.name
	if !ok {
		name = plainName(text)
	}
	return name, channelOf(known.kind, click.channel, v.Campaign.Medium, name, app)
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
// click is what a click id tells.
func channelOf(kind, click Channel, medium, name string, app bool) Channel {
	medium = strings.ToLower(strings.TrimSpace(medium))
	paid := click == PaidSearch || click == PaidSocial
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
	case click == Display || click == Affiliate || click == Email:
		return click
	case paid && (kind == Social || kind == Video || kind == "" && click == PaidSocial):
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

// clickIDs say whose click ids are, and what kind of source they tell of where that is not what the source is known for.
var clickIDs = map[string]struct {
	source  string
	channel Channel
}{
	"gclid": {"google.com", PaidSearch}, "gbraid": {"google.com", PaidSearch}, "wbraid": {"google.com", PaidSearch}, "dclid": {"google.com", Display},
	"msclkid": {"bing.com", PaidSearch}, "yclid": {"yandex.ru", PaidSearch},
	"ttclid": {"tiktok.com", PaidSocial}, "twclid": {"twitter.com", PaidSocial}, "li_fat_id": {"linkedin.com", PaidSocial}, "rdt_cid": {"reddit.com", PaidSocial},
	"epik": {"pinterest.com", PaidSocial}, "sccid": {"snapchat.com", PaidSocial}, "scclid": {"snapchat.com", PaidSocial}, "qclid": {"quora.com", PaidSocial},
	"tblci": {"taboola.com", Display}, "dicbo": {"outbrain.com", Display},
	"irclickid": {"impact.com", Affiliate}, "awc": {"awin.com", Affiliate}, "cjevent": {"cj.com", Affiliate},
	"fbclid": {"facebook.com", ""}, "igshid": {"instagram.com", ""}, "igsh": {"instagram.com", ""}, "srsltid": {"google.com", ""},
	"mc_eid": {"mailchimp", Email}, "_kx": {"klaviyo", Email}, "mkt_tok": {"marketo", Email}, "_hsenc": {"hubspot", Email}, "vero_id": {"vero", Email},
}
