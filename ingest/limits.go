package ingest

import (
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Limits says how much one sender, and all senders for one site, may send. Each is a bucket that fills with the rate and holds the burst.
// Programs on this machine and senders with a token are not limited.
type Limits struct {
	AddressRate  float64 // requests a second of one address (IPv6: one /64); 0 is without limit
	AddressBurst float64 // requests at once
	SiteRate     float64 // hits a second for one site; 0 is without limit
	SiteBurst    float64 // hits at once
}

// Validate reports what cannot work.
func (l *Limits) Validate() error {
	for _, v := range []float64{l.AddressRate, l.AddressBurst, l.SiteRate, l.SiteBurst} {
		if v < 0 || v > 1e9 || math.IsNaN(v) {
			return errors.New("ingest: rates and bursts must be 0 to 1000000000")
		}
	}
	if l.AddressRate > 0 && l.AddressBurst < 1 || l.SiteRate > 0 && l.SiteBurst < 1 {
		return errors.New("ingest: a limited rate needs a burst of at least 1")
	}
	return nil
}

// bucketRate is a rate with its burst, in nanoseconds: a bucket is one number, the moment at which it is full again.
type bucketRate struct{ perHit, burst int64 }

func newBucketRate(rate, burst float64) bucketRate {
	if rate <= 0 {
		return bucketRate{}
	}
	perHit := 1e9 / rate
	return bucketRate{max(int64(perHit), 1), int64(perHit * burst)}
}

// take takes n from a bucket. It returns the bucket, and how long to wait when it does not hold that much; then nothing is taken.
func (r bucketRate) take(full, now int64, n int) (after int64, wait time.Duration) {
	after = max(full, now) + int64(n)*r.perHit
	if over := after - now - r.burst; over > 0 {
		return full, time.Duration(over)
	}
	return after, 0
}

// limits holds the buckets. Its memory is bounded: of each shard two generations of addresses are kept, and who is forgotten begins with a
// full bucket.
type limits struct {
	address, site bucketRate
	shards        [16]limitShard
	sites         sync.Map // state.SiteID -> *atomic.Int64
}

type limitShard struct {
	mu         sync.Mutex
	young, old map[netip.Addr]int64
}

// shardAddresses bounds one generation of one shard: 16 x 2 x 4096 addresses of about 60 bytes.
const shardAddresses = 4096

func newLimits(l Limits) *limits {
	return &limits{address: newBucketRate(l.AddressRate, l.AddressBurst), site: newBucketRate(l.SiteRate, l.SiteBurst)}
}

// waitOf takes one request of an address. It returns 0, or how long the sender must wait.
func (l *limits) waitOf(addr netip.Addr, now int64) time.Duration {
	if l.address.perHit == 0 || !addr.IsValid() {
		return 0
	}
	if addr.Is6() {
		net, _ := addr.WithZone("").Prefix(64)
		addr = net.Addr()
	}
	bytes := addr.As16()
	shard := &l.shards[(binary.BigEndian.Uint64(bytes[:8])*0x9e3779b97f4a7c15^binary.BigEndian.Uint64(bytes[8:])*0xc2b2ae3d27d4eb4f)>>60]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	full, ok := shard.young[addr]
	if !ok {
		full = shard.old[addr]
	}
	after, wait := l.address.take(full, now, 1)
	if !ok && len(shard.young) >= shardAddresses {
		shard.young, shard.old = nil, shard.young
	}
	if shard.young == nil {
		shard.young = make(map[netip.Addr]int64, 64)
	}
	shard.young[addr] = after
	return wait
}

// waitOfSite takes n hits of a site.
func (l *limits) waitOfSite(site state.SiteID, now int64, n int) time.Duration {
	if l.site.perHit == 0 {
		return 0
	}
	value, ok := l.sites.Load(site)
	if !ok {
		value, _ = l.sites.LoadOrStore(site, new(atomic.Int64)) // as many as there are sites
	}
	bucket := value.(*atomic.Int64)
	for {
		full := bucket.Load()
		after, wait := l.site.take(full, now, n)
		if wait > 0 || bucket.CompareAndSwap(full, after) {
			return wait
		}
	}
}

// limited refuses a request whose sender sends too much, and reports whether it did.
func (i *Ingest) limited(w http.ResponseWriter, r *http.Request, client clientip.Client) bool {
	if i.limits.address.perHit == 0 || client.Direct() {
		return false
	}
	wait := i.limits.waitOf(client.Addr, i.cfg.Now().UnixNano())
	if wait == 0 || r.Header["Authorization"] != nil && i.hasKey(r, "") {
		return false
	}
	w.Header().Set("Retry-After", retryAfter(wait))
	i.refuse(w, refusal{http.StatusTooManyRequests, "rate", "is over what one address may send; send later, or with a token", reasonRate, 0})
	return true
}

// siteLimited returns the refusal of a hit whose site gets too much, nil when it is within the limit.
func (i *Ingest) siteLimited(site state.SiteID) *refused {
	if i.limits.waitOfSite(site, i.cfg.Now().UnixNano(), 1) == 0 {
		return nil
	}
	return &refused{refusal{http.StatusTooManyRequests, "rate", "is over what one site may get; send later, or with a token", reasonRate, site}}
}

// retryAfter rounds up to seconds.
func retryAfter(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}
