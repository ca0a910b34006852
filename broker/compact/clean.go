package compact

import (
	"fmt"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// Config says how a round goes.
type Config struct {
	// DeleteRetention is how long tombstones and markers stay after they have
	// done their work.
	DeleteRetention time.Duration
	// KeepDeletes keeps them for ever: where another replica may have the
	// records that they delete and not yet the tombstone itself.
	KeepDeletes bool
	// SegmentBytes is up to how much small segments are joined.
	SegmentBytes int64
	// MapBytes bounds the map of keys, 24 bytes a place of which three quarters
	// are used; 0 for 24 MiB, 786,000 keys. What does not fit is left for the
	// next round; a single segment with more keys is given what it needs.
	MapBytes int64
	// Retain says whether a batch must stay for its producer's sake.
	Retain func(record.Batch) bool
	// Aborted are the aborted transactions with records in the plan.
	Aborted []seglog.Aborted
	Now     time.Time
	// Pace is told of bytes that were read or written, and may wait. An error
	// ends the round; what was rewritten until then stays.
	Pace func(bytes int) error
}

const defaultMapBytes = 24 << 20

// Result is what a round has done.
type Result struct {
	End         int64 // offset up to which the log is clean
	BytesBefore int64
	BytesAfter  int64
	Records     int64 // looked at
	Removed     int64 // of those
	// LastHorizonMs is when the last of the tombstones and markers that are
	// kept may go, 0 when there are none.
	LastHorizonMs int64
}

// Clean makes one round over what a plan names. Called by one goroutine for a
// log at a time; readers, writers and retention go on meanwhile.
func Clean(log *seglog.Log, p Plan, cfg Config) (Result, error) {
	if cfg.MapBytes == 0 {
		cfg.MapBytes = defaultMapBytes
	}
	c := &cleaner{
		cfg: cfg, log: log, keys: newKeyMap(cfg.MapBytes), aborted: map[int64][]seglog.Aborted{}, holding: map[int64]bool{},
		last: log.Bounds().NextOffset - 1,
	}
	for _, a := range cfg.Aborted {
		c.aborted[a.ProducerID] = append(c.aborted[a.ProducerID], a)
	}
	segs, err := c.readDirty(p.Segments)
	if err != nil || len(segs) == 0 {
		return c.res, err
	}
	for _, bases := range groups(segs, cfg.SegmentBytes) {
		r, err := log.Rewrite(bases, c.batch)
		if err != nil {
			return c.res, err
		}
		c.res.BytesBefore += r.BytesBefore
		c.res.BytesAfter += r.BytesAfter
	}
	c.res.End = segs[len(segs)-1].NextOffset
	return c.res, nil
}

// cleaner is one round.
type cleaner struct {
	cfg     Config
	log     *seglog.Log
	keys    *keyMap
	aborted map[int64][]seglog.Aborted // by producer, in the order of their markers
	// holding are the producers of whose transaction that goes on something
	// was kept: its marker must stay.
	holding map[int64]bool
	last    int64 // offset of the last record of the log
	res     Result
}

// readDirty fills the map and returns the segments that it is good for.
func (c *cleaner) readDirty(segs []seglog.SegmentInfo) ([]seglog.SegmentInfo, error) {
	dirty := 0
	for i, g := range segs {
		if g.Compacted {
			continue
		}
		whole, err := c.readSegment(g, dirty == 0)
		if err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		if !whole {
			return segs[:i], nil
		}
		dirty++
	}
	return segs, nil
}

// readSegment notes the keys of a segment. It returns false when they do not
// fit, unless they have to. Notes of a segment that is left out do no harm: what
// they say is newer is there.
func (c *cleaner) readSegment(g seglog.SegmentInfo, must bool) (whole bool, err error) {
	for at := g.Base; at < g.NextOffset; {
		b, err := c.log.Read(at, 1<<20, g.NextOffset)
		if err != nil {
			return false, err
		}
		if len(b) == 0 {
			break // nothing but holes
		}
		if err := c.cfg.Pace(len(b)); err != nil {
			return false, err
		}
		for len(b) > 0 {
			h, rest, err := record.Parse(b)
			if err != nil {
				return false, err
			}
			at, b = h.NextOffset(), rest
			if h.Control() || c.isAborted(h) {
				continue
			}
			fits := true
			err = record.ForEach(h.Raw, func(r record.Record) error {
				if r.Key == nil {
					return nil
				}
				if c.keys.full() {
					if !must {
						fits = false
						return nil
					}
					c.keys.grow()
				}
				c.keys.put(hashOf(r.Key), h.BaseOffset+int64(r.OffsetDelta))
				return nil
			})
			if err != nil || !fits {
				return false, err
			}
		}
	}
	return true, nil
}

func (c *cleaner) isAborted(h record.Batch) bool {
	if !h.Transactional() {
		return false
	}
	for _, a := range c.aborted[h.ProducerID] {
		if h.BaseOffset >= a.FirstOffset && h.BaseOffset < a.LastOffset {
			return true
		}
	}
	return false
}

// batch returns what is left of a batch.
func (c *cleaner) batch(raw []byte) ([]byte, error) {
	h, err := record.Check(raw)
	if err != nil {
		return nil, err
	}
	c.res.Records += int64(h.Count)
	var out []byte
	switch {
	case h.Control():
		out, err = c.control(h)
	case c.isAborted(h):
		out, err = c.filter(h, func(record.Record) bool { return false })
	default:
		out, err = c.data(h)
	}
	if err != nil {
		return nil, err
	}
	if out != nil && h.Transactional() && !h.Control() {
		c.holding[h.ProducerID] = true
	}
	return out, c.cfg.Pace(len(raw) + len(out))
}

// data keeps the newest records of their keys.
func (c *cleaner) data(h record.Batch) ([]byte, error) {
	horizon, has := h.DeleteHorizonMs()
	expired := has && c.cfg.Now.UnixMilli() >= horizon && !c.cfg.KeepDeletes && h.LastOffset() != c.last // who reads to the end finds a record there
	deletes := false
	keep := func(r record.Record) bool {
		if r.Key == nil || c.keys.newest(hashOf(r.Key)) > h.BaseOffset+int64(r.OffsetDelta) {
			return false
		}
		if r.Value == nil {
			if expired {
				return false
			}
			deletes = true
		}
		return true
	}
	out, err := c.filter(h, keep)
	if err != nil || !deletes || c.cfg.KeepDeletes {
		return out, err
	}
	if has {
		c.noteHorizon(horizon)
		return out, nil
	}
	return c.withHorizon(out)
}

// filter keeps the records that are accepted, and without any the header of a
// batch that must stay.
func (c *cleaner) filter(h record.Batch, keep func(record.Record) bool) ([]byte, error) {
	out, kept, err := record.Filter(h, record.NoHorizon, keep)
	if err != nil {
		return nil, err
	}
	c.res.Removed += int64(h.Count) - int64(kept)
	switch {
	case kept == int(h.Count) && (kept > 0 || c.mustStay(h)):
		return h.Raw, nil
	case kept > 0 || c.mustStay(h):
		return out, nil
	}
	return nil, nil
}

func (c *cleaner) mustStay(h record.Batch) bool {
	return h.LastOffset() == c.last || h.ProducerID != record.NoProducer && c.cfg.Retain(h)
}

// control keeps the marker of a transaction of which something is left, or
// whose producer needs it, and any other until its horizon.
func (c *cleaner) control(h record.Batch) ([]byte, error) {
	held := c.holding[h.ProducerID]
	delete(c.holding, h.ProducerID)
	horizon, has := h.DeleteHorizonMs()
	switch {
	case held || c.cfg.KeepDeletes || c.mustStay(h):
		return h.Raw, nil
	case !has:
		return c.withHorizon(h.Raw)
	case c.cfg.Now.UnixMilli() < horizon:
		c.noteHorizon(horizon)
		return h.Raw, nil
	}
	c.res.Removed += int64(h.Count)
	return nil, nil
}

// withHorizon notes in a batch when what it deletes with may go.
func (c *cleaner) withHorizon(raw []byte) ([]byte, error) {
	h, err := record.Check(raw)
	if err != nil {
		return nil, err
	}
	ms := c.cfg.Now.Add(c.cfg.DeleteRetention).UnixMilli()
	c.noteHorizon(ms)
	out, _, err := record.Filter(h, ms, func(record.Record) bool { return true })
	return out, err
}

func (c *cleaner) noteHorizon(ms int64) { c.res.LastHorizonMs = max(c.res.LastHorizonMs, ms) }
