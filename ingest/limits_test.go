package ingest

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAddressesThatSendTooMuchWait(t *testing.T) {
	now := testNow
	var mu sync.Mutex
	f := start(t, func(c *Config) {
		c.Limits = Limits{AddressRate: 10, AddressBurst: 5}
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	send := func(address string, header ...string) int {
		w := f.send("POST", "/api/event", pageview, append([]string{"X-Forwarded-For", address}, header...)...)
		if w.Code == 429 && (w.Header().Get("Retry-After") != "1" || w.Header().Get("X-Weir-Dropped") != "rate" || !strings.Contains(bodyOf(t, w), "one address")) {
			t.Errorf("got %v", w.Header())
		}
		return w.Code
	}
	for range 5 {
		if got := send("81.2.69.142"); got != 202 {
			t.Fatalf("within the burst: got %d", got)
		}
	}
	if got := send("81.2.69.142"); got != 429 {
		t.Errorf("over the burst: got %d", got)
	}
	if got := send("81.2.69.143"); got != 202 {
		t.Errorf("another address: got %d", got)
	}
	if got := send("81.2.69.142", "Authorization", "Bearer "+ingestToken); got != 202 {
		t.Errorf("with a token: got %d", got)
	}
	if got := send("81.2.69.142", "Authorization", "Bearer weir_wrong"); got != 429 {
		t.Errorf("with a wrong token: got %d", got)
	}
	for n := range 20 {
		if w := f.send("POST", "/api/event", pageview); w.Code != 202 {
			t.Fatalf("this machine, %d: got %d", n, w.Code)
		}
	}
	mu.Lock()
	now = now.Add(100 * time.Millisecond)
	mu.Unlock()
	if got := []int{send("81.2.69.142"), send("81.2.69.142")}; got[0] != 202 || got[1] != 429 {
		t.Errorf("a tenth of a second later: got %v", got)
	}
	for n := range 5 {
		send(fmt.Sprintf("2001:db8:1:2::%d", n))
	}
	if got := []int{send("2001:db8:1:2:ffff::1"), send("2001:db8:1:3::1")}; got[0] != 429 || got[1] != 202 {
		t.Errorf("IPv6 networks: got %v", got)
	}
}

func TestSitesThatGetTooMuchWait(t *testing.T) {
	f := start(t, func(c *Config) { c.Limits = Limits{SiteRate: 1, SiteBurst: 2} }, "a.example", "b.example")
	const both = `{"n":"pageview","u":"https://a.example/","d":"a.example,b.example"}`
	const one = `{"n":"pageview","u":"https://a.example/"}`
	f.send("POST", "/api/event", one)
	f.send("POST", "/api/event", one)
	if w := f.send("POST", "/api/event", one); w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d, %v", w.Code, w.Header())
	}
	if w := f.send("POST", "/api/event", both); w.Code != 202 || w.Header().Get("X-Weir-Dropped") != "rate" {
		t.Errorf("one of two: got %d, %v", w.Code, w.Header())
	}
	if w := f.send("GET", "/matomo.php?idsite=1&rec=1&url=https://a.example/", ""); w.Code != 429 {
		t.Errorf("another tracker: got %d", w.Code)
	}
	if n := len(f.log.hits()); n != 3 {
		t.Errorf("%d hits", n)
	}
}

func TestBucketsAreBounded(t *testing.T) {
	l := newLimits(Limits{AddressRate: 1, AddressBurst: 1})
	for n := range 300_000 {
		l.waitOf(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1e18)
	}
	for at := range l.shards {
		if n := len(l.shards[at].young) + len(l.shards[at].old); n > 2*shardAddresses {
			t.Errorf("shard %d has %d", at, n)
		}
	}
	if err := (&Limits{AddressRate: 1}).Validate(); err == nil {
		t.Error("a rate without a burst is no limit that can work")
	}
}

func BenchmarkLimits(b *testing.B) {
	l := newLimits(Limits{AddressRate: 1e6, AddressBurst: 1e6, SiteRate: 1e6, SiteBurst: 1e6})
	addr := netip.MustParseAddr("81.2.69.142")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.waitOf(addr, 1e18)
			l.waitOfSite(1, 1e18, 1)
		}
	})
}

func TestDeepBodiesAreRefused(t *testing.T) {
	f := start(t, nil)
	deep := strings.Repeat(`{"a":`, 100_000)
	for _, path := range []string{"/api/event", "/api/send", "/api/batch", "/mp/collect", "/matomo.php", "/hooks/shlink", "/hooks/dub", "/api/clicks"} {
		for _, body := range []string{deep, `{"payload":` + deep, `[` + deep, `{"requests":[` + deep, `{"p":"` + strings.ReplaceAll(deep, `"`, `\"`) + `"}`} {
			if w := f.send("POST", path, body); w.Code == 202 || w.Code >= 500 {
				t.Errorf("%s %.20s: got %d", path, body, w.Code)
			}
		}
	}
	if n := len(f.log.hits()); n != 0 {
		t.Errorf("%d hits", n)
	}
}

func TestLargeBodiesShareTheMemoryThatTheyMayHave(t *testing.T) {
	f := start(t, func(c *Config) { c.BodiesBytes, c.ClicksBytes, c.EventBytes = 1<<20, 1<<20, 1<<20 })
	blank := strings.Repeat(" ", 200<<10)
	if w := f.send("POST", "/api/event", blank+pageview); w.Code != 202 || f.bodies.Load() != 0 {
		t.Errorf("got %d, %d bytes are held", w.Code, f.bodies.Load())
	}
	f.bodies.Add(900 << 10)
	if w := f.send("POST", "/api/event", blank+pageview); w.Code != 503 || w.Header().Get("Retry-After") == "" || w.Header().Get("X-Weir-Dropped") != "queue-full" {
		t.Errorf("no room: got %d, %v", w.Code, w.Header())
	}
	if w := f.send("POST", "/api/event", pageview); w.Code != 202 {
		t.Errorf("a small one: got %d", w.Code)
	}
	if got := f.bodies.Load(); got != 900<<10 {
		t.Errorf("%d bytes are held", got)
	}
}
