package ingest

import (
	"log/slog"
	"net/netip"
	"sync/atomic"

	"github.com/weir-analytics/weir/ingest/clientip"
)

// proxyWatch notices when all hits come from one private address: then a proxy or a container network stands in front and its headers
// are missing or not believed, and all visitors look like one, from nowhere. It keeps no public address.
type proxyWatch struct {
	inside, others atomic.Int64 // requests by what kind of address they came from
	warned         atomic.Bool

	connection, headers, unreadable atomic.Int64 // the same requests by what told the address
	hits, nowhere                   atomic.Int64 // hits of trackers, and those of them without a country
}

// Traffic says where addresses of visitors came from since the node's start: requests of trackers, and their hits.
type Traffic struct {
	Requests   int64 `json:"requests"`
	Connection int64 `json:"connection"` // nothing but the connection told the address
	Headers    int64 `json:"headers"`    // a header of a trusted proxy did
	Unreadable int64 `json:"unreadable"` // a proxy is there and named no address
	Inside     int64 `json:"inside"`     // the address is one of the own network
	Hits       int64 `json:"hits"`
	NoCountry  int64 `json:"no_country"`
}

func (w *proxyWatch) traffic() Traffic {
	t := Traffic{Connection: w.connection.Load(), Headers: w.headers.Load(), Unreadable: w.unreadable.Load(), Inside: w.inside.Load(),
		Hits: w.hits.Load(), NoCountry: w.nowhere.Load()}
	t.Requests = t.Connection + t.Headers + t.Unreadable
	return t
}

// suspicious is how many hits from one private address, and none from elsewhere, make a warning.
const suspicious = 200

// note counts one hit that came over the network.
func (w *proxyWatch) note(c clientip.Client, log *slog.Logger) {
	switch c.From {
	case "":
		w.connection.Add(1)
	case clientip.Unusable:
		w.unreadable.Add(1)
	default:
		w.headers.Add(1)
	}
	if !isInside(c.Addr) {
		w.others.Add(1)
		return
	}
	if w.inside.Add(1) < suspicious || w.others.Load() > 0 || w.warned.Swap(true) {
		return
	}
	log.Warn("every hit so far comes from a private address, so visitors and countries cannot be told apart: "+
		"a proxy or a container network hides them; let it set X-Forwarded-For and name it with --trusted-proxies",
		"proxy", c.Peer, "header", c.From)
}

// place notes one hit that somebody's own browser or tracker sent.
func (w *proxyWatch) place(country string) {
	w.hits.Add(1)
	if country == "" {
		w.nowhere.Add(1)
	}
}

func isInside(addr netip.Addr) bool { return addr.IsPrivate() || addr.IsLinkLocalUnicast() }
