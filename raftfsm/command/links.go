package command

// Link is a short link: GET /l/SLUG leads to Dest.
type Link struct {
	Domain    string `json:"domain,omitempty"` // host at which it answers; empty: at every host where no link of the host's own has the slug
	Slug      string `json:"slug"`
	Site      string `json:"site"`   // its clicks count for
	Dest      string `json:"dest"`   // whole address, http or https
	Status    int    `json:"status"` // 301, 302 or 307
	PassQuery bool   `json:"pass_query,omitempty"`
	PassPath  bool   `json:"pass_path,omitempty"`
	ExpiresMs int64  `json:"expires_ms,omitempty"` // Unix milliseconds; 0: never
}

// PutLinks adds links, all or none. Those that are there are an error, or are replaced.
type PutLinks struct {
	Links   []Link `json:"links"`
	Replace bool   `json:"replace,omitempty"`
}

// DeleteLink removes a link.
type DeleteLink struct {
	Domain string `json:"domain,omitempty"`
	Slug   string `json:"slug"`
}
