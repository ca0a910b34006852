package ingest

import "github.com/weir-analytics/weir/raftfsm/state"

// reason says why a hit was not taken, or was set apart. The list is fixed: it labels a metric.
type reason string

const (
	reasonUnknownSite  reason = "unknown-site"  // no site of that name
	reasonUnknownLink  reason = "unknown-link"  // no short link of that name, or one that is over
	reasonInvalid      reason = "invalid"       // a field is missing or wrong
	reasonNotJSON      reason = "not-json"      // the body or line is no JSON
	reasonNotUTF8      reason = "not-utf8"      // the body or line is no text
	reasonTooLarge     reason = "too-large"     // body or line over the limit
	reasonContentType  reason = "content-type"  // not a type that this path takes
	reasonUnauthorized reason = "unauthorized"  // no token, or not one for this
	reasonFuture       reason = "future"        // dated ahead of the clock
	reasonNoHit        reason = "no-hit"        // a message that tells of no hit: identify, web vitals, a goal's creation
	reasonRate         reason = "rate"          // more requests than one sender, or one site, may send
	reasonBadLine      reason = "bad-line"      // line of an imported log that is no hit
	reasonQueueFull    reason = "queue-full"    // refused to bound memory
	reasonNotWritten   reason = "not-written"   // the log did not take it
	reasonUnknown      reason = "write-unknown" // not known whether the log took it
)

// reasons lists all of them, so that every series exists from the start.
var reasons = []reason{
	reasonUnknownSite, reasonUnknownLink, reasonInvalid, reasonNotJSON, reasonNotUTF8, reasonTooLarge, reasonContentType, reasonUnauthorized, reasonFuture,
	reasonNoHit, reasonRate,
	reasonBadLine, reasonQueueFull, reasonNotWritten, reasonUnknown,
}

// lost counts hits that are not taken. Site 0 is for those whose site is not known.
func (i *Ingest) lost(site state.SiteID, why reason, n int) { i.lostLike(site, why, n, DroppedHit{}) }

// lostLike is lost with an example of what was refused.
func (i *Ingest) lostLike(site state.SiteID, why reason, n int, example DroppedHit) {
	i.metrics.dropped[why].Add(float64(n))
	i.drops.add(site, why, n, i.cfg.Now(), example)
}
