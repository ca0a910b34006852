package node

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/web"
	"github.com/weir-analytics/weir/web/reply"
)

// importer lets web hand log files to ingest. It implements web.Importer.
type importer struct {
	ingest *ingest.Ingest
	rollup *rollup.Rollup
}

func (i importer) Import(ctx context.Context, in web.ImportRequest, progress func(web.ImportCounts)) (web.ImportResult, error) {
	late, cancel := context.WithTimeout(ctx, catchUpMost)
	_ = i.rollup.CatchUp(late) // so that an import right before is known; where that fails counting drops the repeats
	cancel()
	p := pacer{wait: i.rollup.WaitForMinutes}
	r, err := i.ingest.Import(ctx, ingest.ImportRequest{Site: in.Site, Body: in.Body, Zone: in.Zone, Check: in.Check, From: in.From, Pace: p.pace},
		func(c ingest.ImportCounts) { progress(web.ImportCounts(c)) })
	if errors.Is(err, ingest.ErrBadPlace) {
		err = reply.Invalid("from", "from: %s; leave it away and send the file from its first line", err)
	}
	result := web.ImportResult{ImportCounts: web.ImportCounts(r.ImportCounts), Humans: r.Humans, Bots: r.Bots, Formats: r.Formats, Reasons: r.Reasons,
		Next: r.Next, Offsets: r.Offsets}
	if r.FirstMs != 0 {
		result.First, result.Last = time.UnixMilli(r.FirstMs).UTC(), time.UnixMilli(r.LastMs).UTC()
	}
	for _, e := range r.Examples {
		result.Examples = append(result.Examples, web.ImportExample(e))
	}
	return result, err
}

// catchUpMost is how long an import waits at its begin for counting, which tells it what was imported before.
const catchUpMost = 10 * time.Second

// How far an import may be ahead of counting. What happens now lies behind it in the same partitions, so this is about how late that is
// seen. Lines that share minutes are counted as fast as they come; where each line touches a minute of its own the import is held back.
const (
	paceAge   = 400 * time.Millisecond // in which a chunk of lines is to be counted
	paceFewer = 2                      // chunks that may be ahead where that takes longer
	paceMore  = 32                     // chunks that may be ahead where it does not
	paceMost  = 5 * time.Second        // for each chunk, where counting stands still
)

// pacer holds an import back that counting does not keep up with.
type pacer struct {
	wait  func(ctx context.Context, offsets map[int32]int64) error // until what lies before the offsets is counted
	allow int                                                      // chunks that may be ahead
	ahead []milestone                                              // that are not known to be counted, oldest first
}

// milestone is how far an import was at a time.
type milestone struct {
	at      time.Time
	offsets map[int32]int64
}

// pace is called after each chunk of lines.
func (p *pacer) pace(ctx context.Context, offsets map[int32]int64) {
	p.ahead = append(p.ahead, milestone{time.Now(), maps.Clone(offsets)})
	p.allow = max(p.allow, paceFewer)
	for len(p.ahead) > p.allow || len(p.ahead) > paceFewer && time.Since(p.ahead[0].at) > paceAge {
		oldest := p.ahead[0]
		p.ahead = p.ahead[1:]
		most, cancel := context.WithTimeout(ctx, paceMost)
		err := p.wait(most, oldest.offsets) // whoever asks for counts hears of an error; the lines are safe in the log
		cancel()
		if err == nil && time.Since(oldest.at) < paceAge {
			p.allow = min(2*p.allow, paceMore)
		} else {
			p.allow = max(p.allow/2, paceFewer)
		}
	}
}
