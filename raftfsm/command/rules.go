package command

// Rules say how the hits of one site are cleaned, and which are set apart. The zero Rules change nothing.
type Rules struct {
	Addresses []string `json:"addresses,omitempty"` // addresses and networks whose hits are one's own
	Hosts     []string `json:"hosts,omitempty"`     // of pages: hits of pages elsewhere are set apart; empty: every host. "*" stands for any text
	Paths     []string `json:"paths,omitempty"`     // of pages whose hits are one's own, such as "/admin/*"
	Referrers []string `json:"referrers,omitempty"` // hosts: who comes from there, or from below, is set apart
	Countries []string `json:"countries,omitempty"` // ISO 3166-1 alpha-2, whose hits are set apart

	QueryListed bool     `json:"query_listed,omitempty"` // of a page's query only Query is kept
	Query       []string `json:"query,omitempty"`        // names of parameters

	NoTrailingSlash bool `json:"no_trailing_slash,omitempty"` // "/a/" is the page "/a"
	TakeDataCentres bool `json:"take_datacentres,omitempty"`  // hits from the operator's list of data centres count as anybody's
}
