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
	hits   atomic.Int64
	others atomic.Int64
	warned atomic.Bool
}

// suspicious is how many hits from one private address, and none from elsewhere, make a warning.
const suspicious = 200

// note counts one hit that came over the network.
func (w *proxyWatch) note(c clientip.Client, log *slog.Logger) {
	if w.warned.Load() {
		return
	}
	if !isInside(c.Addr) {
		w.others.Add(1)
		return
	}
	if w.hits.Add(1) < suspicious || w.others.Load() > 0 || w.warned.Swap(true) {
		return
	}
	log.Warn("every hit so far comes from a private address, so visitors and countries cannot be told apart: "+
		"a proxy or a container network hides them; let it set X-Forwarded-For and name it with --trusted-proxies",
		"proxy", c.Peer, "header", c.From)
}

func isInside(addr netip.Addr) bool { return addr.IsPrivate() || addr.IsLinkLocalUnicast() }
