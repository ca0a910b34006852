package report

import "github.com/weir-analytics/weir/ingest/hit"

// utm is the hits of people by one of the five parameters that name a campaign, where the address of the page has it.
type utm struct {
	name  string
	value func(c *hit.Campaign) string
}

// utms lists the five.
func utms() []Report {
	return []Report{
		utm{"utm_source", func(c *hit.Campaign) string { return c.Source }},
		utm{"utm_medium", func(c *hit.Campaign) string { return c.Medium }},
		utm{"utm_campaign", func(c *hit.Campaign) string { return c.Name }},
		utm{"utm_term", func(c *hit.Campaign) string { return c.Term }},
		utm{"utm_content", func(c *hit.Campaign) string { return c.Content }},
	}
}

func (u utm) Name() string  { return u.name }
func (u utm) PerLink() bool { return false }

func (u utm) Row(h *hit.Hit) (string, bool) {
	if h.Bot {
		return "", false
	}
	value := u.value(&h.Campaign)
	return value, value != ""
}
