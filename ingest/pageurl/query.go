package pageurl

import (
	"iter"
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
)

// Query masks a query string and cuts it; otherwise it is kept as sent. The value of a click id is masked and its name stays: see ClickID.
func Query(raw string) string {
	if raw == "" {
		return ""
	}
	return Cut(maskQuery(Printable(raw)), MaxQuery)
}

// Params walks through the parameters of a query, decoded.
func Params(query string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for query != "" {
			var pair string
			pair, query, _ = strings.Cut(query, "&")
			name, value, _ := strings.Cut(pair, "=")
			if name != "" && !yield(Decode(name), Decode(value)) {
				return
			}
		}
	}
}

// Decode decodes a name or value of a query.
func Decode(text string) string {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '+') < 0 {
		return text
	}
	return unescape(text, true)
}

// Campaign reads the utm_ parameters of a query, or those that Matomo has for the same (mtm_, pk_). Where there is no source, "ref" or "source"
// stands in for it.
func Campaign(query string) hit.Campaign {
	var c hit.Campaign
	if !mayHaveCampaign(query) {
		return c
	}
	var ref string
	for name, value := range Params(query) {
		value = Cut(strings.TrimSpace(Printable(value)), MaxName)
		switch name {
		case "utm_source":
			c.Source = value
		case "utm_medium":
			c.Medium = value
		case "utm_campaign":
			c.Name = value
		case "utm_term":
			c.Term = value
		case "utm_content":
			c.Content = value
		case "mtm_source", "pk_source":
			fill(&c.Source, value)
		case "mtm_medium", "pk_medium":
			fill(&c.Medium, value)
		case "mtm_campaign", "pk_campaign", "piwik_campaign":
			fill(&c.Name, value)
		case "mtm_kwd", "mtm_keyword", "pk_kwd", "pk_keyword", "piwik_kwd":
			fill(&c.Term, value)
		case "mtm_content", "pk_content":
			fill(&c.Content, value)
		case "source", "ref":
			if ref == "" {
				ref = value
			}
		}
	}
	if c.Source == "" {
		c.Source = ref
	}
	return c
}

// mayHaveCampaign is the cheap test that most queries fail.
func mayHaveCampaign(query string) bool {
	if query == "" {
		return false
	}
	return strings.Contains(query, "utm_") || strings.Contains(query, "ref=") || strings.Contains(query, "source=") ||
		strings.Contains(query, "mtm_") || strings.Contains(query, "pk_") || strings.Contains(query, "piwik_")
}

// fill sets a field that is still empty.
func fill(field *string, value string) {
	if *field == "" {
		*field = value
	}
}
