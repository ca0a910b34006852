package compact

import (
	"time"

	"github.com/weir-analytics/weir/broker/seglog"
)

// Plan is what a round would work on.
type Plan struct {
	Segments   []seglog.SegmentInfo // from the log start on, all sealed
	CleanBytes int64                // of those that a round has seen
	DirtyBytes int64
	// OldestDirtyMs is the time of the oldest dirty record, as far as is known;
	// -1 when nothing is dirty.
	OldestDirtyMs int64
}

// Look says what of a log can be cleaned: sealed segments below the end whose
// newest record is older than the lag.
func Look(segs []seglog.SegmentInfo, end int64, minLag time.Duration, now time.Time) Plan {
	p := Plan{OldestDirtyMs: -1}
	for _, g := range segs {
		if !g.Sealed || g.NextOffset > end || minLag > 0 && now.UnixMilli()-g.MaxTimeMs < minLag.Milliseconds() {
			break
		}
		p.Segments = append(p.Segments, g)
		if g.Compacted {
			p.CleanBytes += g.SizeBytes
			continue
		}
		p.DirtyBytes += g.SizeBytes
		if p.OldestDirtyMs < 0 {
			p.OldestDirtyMs = g.MinTimeMs
			if p.OldestDirtyMs < 0 {
				p.OldestDirtyMs = g.CreatedMs
			}
		}
	}
	return p
}

// DirtyRatio is the part of the bytes that no round has seen; 0 when there is
// nothing.
func (p Plan) DirtyRatio() float64 {
	if p.DirtyBytes == 0 {
		return 0
	}
	return float64(p.DirtyBytes) / float64(p.CleanBytes+p.DirtyBytes)
}

// groups joins neighbours into segments of at most so many bytes.
func groups(segs []seglog.SegmentInfo, segmentBytes int64) [][]int64 {
	var out [][]int64
	var first, bytes int64
	var term uint32
	for _, g := range segs {
		if len(out) > 0 && bytes+g.SizeBytes <= segmentBytes && g.Joinable(first, term) {
			out[len(out)-1] = append(out[len(out)-1], g.Base)
		} else {
			out = append(out, []int64{g.Base})
			first, bytes, term = g.Base, 0, 0
		}
		bytes += g.SizeBytes
		if g.Term != 0 {
			term = g.Term
		}
	}
	return out
}
