package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Site is one of the made-up sites.
type Site struct {
	Name     string
	Timezone string
	Links    bool // a short-link domain: clicks instead of page views
	PerHour  int  // visits in an average hour
	pages    []weighted[string]
}

// Sites returns the made-up sites: a shop, a journal and a short-link domain.
func Sites() []Site {
	return []Site{
		{Name: "shop.hazel.example", Timezone: "Europe/Berlin", PerHour: 60, pages: []weighted[string]{
			{22, "/"}, {12, "/kettles"}, {9, "/kettles/gooseneck"}, {8, "/cups"}, {6, "/cups/stoneware-blue"}, {6, "/beans/ethiopia"}, {5, "/beans/colombia"},
			{5, "/grinders"}, {4, "/sale"}, {4, "/cart"}, {3, "/checkout"}, {2, "/about"}, {2, "/shipping"}}},
		{Name: "journal.hazel.example", Timezone: "America/New_York", PerHour: 25, pages: []weighted[string]{
			{18, "/"}, {14, "/2025/the-quiet-roast"}, {10, "/2025/water-matters"}, {8, "/2025/grinding-by-hand"}, {6, "/2024/a-cup-in-kyoto"}, {4, "/archive"}, {3, "/feed"}}},
		{Name: "hzl.example", Timezone: "Asia/Kolkata", Links: true, PerHour: 40, pages: []weighted[string]{
			{20, "spring"}, {14, "talk24"}, {9, "kettle"}, {7, "jobs"}, {5, "podcast"}, {3, "map"}}},
	}
}

// Hit is one request of a made-up visitor.
type Hit struct {
	At       time.Time
	Site     Site
	Page     string // a path, or the id of a short link
	Referrer string
	Address  string
	Agent    string
}

// Traffic makes hits up. It is not safe for concurrent use.
type Traffic struct{ rng *rand.Rand }

// New returns traffic that depends on the seed alone.
func New(seed uint64) *Traffic { return &Traffic{rand.New(rand.NewPCG(seed, 0x77656972))} }

// byHour is how busy an hour of the visitors' day is, in percent of the average.
var byHour = [24]int{38, 24, 17, 14, 16, 26, 52, 88, 118, 136, 142, 138, 132, 136, 140, 138, 134, 132, 136, 146, 152, 138, 104, 66}

// Between returns the hits of a site from one time to another in ascending order, at scale times its usual traffic.
func (t *Traffic) Between(site Site, from, to time.Time, scale float64) []Hit {
	zone, err := time.LoadLocation(site.Timezone)
	if err != nil {
		zone = time.UTC
	}
	var hits []Hit
	for hour := from; hour.Before(to); hour = hour.Add(time.Hour) {
		mean := float64(site.PerHour) * scale * float64(byHour[hour.In(zone).Hour()]) / 100 * weekday(hour.In(zone))
		for range t.about(mean) {
			hits = append(hits, t.visit(site, hour.Add(time.Duration(t.rng.Int64N(int64(time.Hour)))))...)
		}
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return !h.At.Before(to) })
	slices.SortStableFunc(hits, func(a, b Hit) int { return a.At.Compare(b.At) })
	return hits
}

func weekday(t time.Time) float64 {
	if d := t.Weekday(); d == time.Saturday || d == time.Sunday {
		return 0.7
	}
	return 1.1
}

// about returns a whole number near mean: the count of a process that is spread as chance spreads it.
func (t *Traffic) about(mean float64) int {
	spread := mean + t.rng.NormFloat64()*0.5*max(1, mean/4)
	n := int(spread)
	if t.rng.Float64() < spread-float64(n) {
		n++
	}
	return max(n, 0)
}

// visit returns the hits of one visitor who arrives at the given time.
func (t *Traffic) visit(site Site, at time.Time) []Hit {
	hit := Hit{At: at, Site: site, Page: pick(t.rng, site.pages), Referrer: pick(t.rng, referrers), Address: address(t.rng), Agent: pick(t.rng, agents)}
	if t.rng.IntN(100) < 6 {
		hit.Agent, hit.Referrer = pick(t.rng, robots), ""
	}
	hits := []Hit{hit}
	for !site.Links && t.rng.IntN(100) < 55 && len(hits) < 12 {
		hit.At = hit.At.Add(5*time.Second + time.Duration(t.rng.Int64N(int64(90*time.Second))))
		hit.Referrer = "https://" + site.Name + hit.Page
		hit.Page = pick(t.rng, site.pages)
		hits = append(hits, hit)
	}
	return hits
}

// Next returns the next live hit, at now, and how long to wait before asking again.
func (t *Traffic) Next(now time.Time) (Hit, time.Duration) {
	var sites []weighted[Site]
	for _, s := range Sites() {
		sites = append(sites, weighted[Site]{s.PerHour, s})
	}
	hit := t.visit(pick(t.rng, sites), now)[0]
	return hit, 150*time.Millisecond + time.Duration(t.rng.Int64N(int64(1200*time.Millisecond)))
}

// WriteLog writes hits as lines of an access log in combined format.
func WriteLog(w io.Writer, hits []Hit) error {
	out := bufio.NewWriter(w)
	for _, h := range hits {
		referrer := h.Referrer
		if referrer == "" {
			referrer = "-"
		}
		fmt.Fprintf(out, "%s - - [%s] \"GET %s HTTP/1.1\" 200 5120 \"%s\" \"%s\"\n", h.Address, h.At.UTC().Format("02/Jan/2006:15:04:05 -0700"), h.Page, referrer, h.Agent)
	}
	return out.Flush()
}

// WriteClicks writes hits of a short-link domain as the lines that POST /api/clicks takes.
func WriteClicks(w io.Writer, hits []Hit) error {
	out := json.NewEncoder(w)
	for _, h := range hits {
		line := map[string]string{
			"ts": h.At.UTC().Format(time.RFC3339Nano), "link": h.Page, "host": h.Site.Name, "site": h.Site.Name,
			"dest": "https://shop.hazel.example/?from=" + h.Page, "ip": h.Address, "ua": h.Agent, "ref": h.Referrer,
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
