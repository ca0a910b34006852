package oracle

import (
	"fmt"
	"math/rand/v2"

	"github.com/weir-analytics/weir/ingest/hit"
)

// Traffic makes up hits: a few sites in odd zones, visitors who come back, late and repeated hits, bots, and nonsense.
type Traffic struct {
	Rand  *rand.Rand
	Sites map[uint32]string // zones
	Start int64             // milliseconds since 1970; receipts go on from here
	Span  int64             // milliseconds that most hits lie within, before their receipt

	now    int64
	serial uint64
	ids    []hit.Hit // some that had an identity, for repeats
}

// Next makes up a hit and says which partition of n it goes to.
func (t *Traffic) Next(n int) (int32, hit.Hit) {
	r := t.Rand
	if t.now == 0 {
		t.now = t.Start
	}
	t.now += r.Int64N(400)
	if len(t.ids) > 0 && r.IntN(12) == 0 {
		again := t.ids[r.IntN(len(t.ids))]
		again.ReceivedMs = t.now
		return partitionOf(&again, n), again
	}
	site := uint32(1 + r.IntN(len(t.Sites)))
	h := hit.Hit{SiteID: site, Site: fmt.Sprintf("site%d.example", site), ReceivedMs: t.now, TimeMs: t.now - r.Int64N(1000),
		Kind: hit.Kind(1 + r.IntN(4)), Country: pick(r, "DE", "US", "FR", "", "JP"), Browser: pick(r, "Chrome", "Firefox", "Safari", ""),
		OS: pick(r, "Linux", "Windows", "iOS"), Device: pick(r, "desktop", "mobile", "tablet"), Host: fmt.Sprintf("site%d.example", site),
		Path: fmt.Sprintf("/p/%d", r.IntN(1+r.IntN(40))), RefHost: pick(r, "", "", "t.co", "news.example", fmt.Sprintf("site%d.example", site)),
		Bot: r.IntN(6) == 0}
	h.Title, h.Language, h.ScreenWidth = pick(r, "A", "B", ""), pick(r, "de", "pt-BR", ""), []int{0, 390, 768, 1280, 1920}[r.IntN(5)]
	h.BrowserVersion, h.OSVersion = pick(r, "", "143.0.1", "17"), pick(r, "", "11", "17.4.1")
	if h.City = pick(r, "", "", "Springfield"); h.City != "" {
		h.RegionCode = pick(r, "US-IL", "US-MA")
	}
	if h.Bot {
		h.BotKind = pick(r, "agent", "headless")
	}
	if h.Kind == hit.Event {
		h.Name = pick(r, "signup", "download")
	}
	if r.IntN(8) == 0 {
		h.Campaign = hit.Campaign{Source: "spring", Medium: "email", Name: pick(r, "", "sale"), Term: pick(r, "", "x"), Content: pick(r, "", "y")}
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		h.TimeMs = t.now - r.Int64N(max(t.Span, 1)) // late, or imported
	case 3:
		h.TimeMs = t.now + r.Int64N(600_000) // clocks ahead, some too far
	}
	// A visitor has one id in a day of the site; which one hardly matters here, but it decides the partition.
	h.Visitor = 1 + uint64(r.IntN(60))*0x9e3779b97f4a7c15 + uint64(site)
	if r.IntN(50) == 0 {
		h.Visitor = 0
	}
	if r.IntN(3) == 0 && h.Visitor != 0 {
		h.VisitorNext = h.Visitor ^ 1<<63 // around a change of salts: some later hits have this one alone
	} else if r.IntN(4) == 0 && h.Visitor != 0 {
		h.Visitor ^= 1 << 63
	}
	if h.Kind == hit.Click {
		h.Link = fmt.Sprintf("l%d", r.IntN(4))
	}
	switch r.IntN(20) {
	case 0:
		h.Kind, h.EngagedMs, h.ScrollPercent = hit.Engagement, r.Int64N(90_000), r.IntN(101)
	case 1:
		h.NonInteractive = true
	}
	if r.IntN(200) == 0 {
		h.TimeMs = r.Int64N(1000)
	}
	t.serial++
	switch r.IntN(3) {
	case 0:
		h.ClientID = fmt.Sprintf("c%d", t.serial)
		t.ids = append(t.ids, h)
	case 1:
		h.ID = hit.ID{Source: fmt.Sprintf("node-%d", r.IntN(3)), Seq: t.serial}
		t.ids = append(t.ids, h)
	}
	return partitionOf(&h, n), h
}

func partitionOf(h *hit.Hit, n int) int32 {
	v := h.Visitor &^ (1 << 63) // both ids of a visitor go to one partition
	return int32((v ^ v>>32) % uint64(n))
}

func pick(r *rand.Rand, values ...string) string { return values[r.IntN(len(values))] }
