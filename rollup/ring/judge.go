package ring

// MaxAheadMs is how far ahead of its receipt the time of a hit may lie, in milliseconds: the clocks of honest servers differ by seconds, and
// a hit beyond it would carry the ring past windows that are still being filled.
const MaxAheadMs = 5 * 60 * 1000

// OldestMs is the earliest time that is counted, in milliseconds since 1970: 1 January 1990, before the first web page. Older times are
// clocks that were never set.
const OldestMs = 631152000000

// Verdict is what to do with the time of a hit.
type Verdict uint8

// Verdicts. Late hits are counted in their own window, however old; only the last two are set apart.
const (
	Counts  Verdict = iota // not later than MaxAheadMs after its receipt
	Future                 // too far ahead of its receipt
	Ancient                // before OldestMs
)

// Judge decides by the time of the hit and the time it was received, both in milliseconds since 1970. It reads no clock, so a hit gets
// the same verdict whenever it is read.
func Judge(timeMs, receivedMs int64) Verdict {
	switch {
	case timeMs < OldestMs:
		return Ancient
	case timeMs-MaxAheadMs > receivedMs:
		return Future
	default:
		return Counts
	}
}

// String returns the word used in metrics.
func (v Verdict) String() string {
	switch v {
	case Counts:
		return "counts"
	case Future:
		return "future"
	default:
		return "ancient"
	}
}
