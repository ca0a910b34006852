package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// TopicDropped is the topic with the numbers of what was not taken. Its records are JSON, see Dropped.
const TopicDropped = "events.dropped"

// Bounds of what is written to the topic and kept in memory. Senders choose how much is refused; they must not choose how much is written.
const (
	dropFlushEvery  = 5 * time.Second
	dropFlushCells  = 500              // records in one flush; what is left over waits, and stays exact
	dropCells       = 20_000           // numbers kept in memory; beyond, sites are no longer told apart
	dropSampleEvery = 10 * time.Second // between two samples of one reason
	dropSamples     = 3                // per number
	dropTimeout     = 3 * time.Second  // for writing one flush
)

// Topics returns the topics that ingest writes beside that of hits, for whoever makes those that are missing.
func Topics() []state.TopicSpec {
	text := func(s string) *string { return &s }
	return []state.TopicSpec{{Name: TopicDropped, Partitions: 1, ReplicationFactor: -1, Configs: map[string]*string{
		"cleanup.policy": text("delete"), "message.timestamp.type": text("LogAppendTime"),
		"retention.ms": text(strconv.FormatInt((90 * 24 * time.Hour).Milliseconds(), 10)), "retention.bytes": text(strconv.Itoa(256 << 20)),
	}}}
}

// Dropped is a record of the topic events.dropped: how many hits of one site were not taken in one minute for one reason, at one node since its
// start. The number of a key grows while its minute lasts; the last record of a key is the one that counts. Sum over sources for the whole.
type Dropped struct {
	Version int          `json:"version"`
	Site    string       `json:"site,omitempty"` // empty: the site is not known
	SiteID  uint32       `json:"site_id"`        // 0: the site is not known
	Reason  string       `json:"reason"`
	Minute  time.Time    `json:"minute"` // UTC
	Count   uint64       `json:"count"`
	Source  string       `json:"source"` // node and start
	Samples []DroppedHit `json:"samples,omitempty"`
}

// DroppedHit is an example of a hit that was not taken, with nothing of the visitor in it. There are few, however many hits are refused.
type DroppedHit struct {
	Detail string `json:"detail"` // what the sender was told
}

// Key returns the key of the record: the last record of a key counts.
func (d *Dropped) Key() string {
	return fmt.Sprintf("%d|%s|%s|%s", d.SiteID, d.Reason, d.Minute.UTC().Format("2006-01-02T15:04Z"), d.Source)
}

// dropKey names one number.
type dropKey struct {
	site   state.SiteID
	minute int64 // Unix
	reason reason
}

type dropCell struct {
	count, written uint64
	samples        []DroppedHit
}

// drops counts what is not taken until it is written to the topic. Safe for concurrent use.
type drops struct {
	source string

	mu      sync.Mutex
	cells   map[dropKey]*dropCell
	sampled map[reason]int64 // Unix ms of the last sample
}

func newDrops(source string) *drops {
	return &drops{source: source, cells: map[dropKey]*dropCell{}, sampled: map[reason]int64{}}
}

// add counts n hits, and keeps the example when its reason has had none for a while.
func (d *drops) add(site state.SiteID, why reason, n int, now time.Time, example DroppedHit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.cell(dropKey{site, now.Unix() / 60, why})
	c.count += uint64(n)
	if example.Detail == "" || len(c.samples) >= dropSamples || now.UnixMilli()-d.sampled[why] < dropSampleEvery.Milliseconds() {
		return
	}
	d.sampled[why] = now.UnixMilli()
	example.Detail = pageurl.Cut(pageurl.Printable(example.Detail), pageurl.MaxName)
	c.samples = append(c.samples, example)
}

func (d *drops) cell(key dropKey) *dropCell {
	c := d.cells[key]
	if c == nil && len(d.cells) >= dropCells {
		key.site = 0
		c = d.cells[key]
	}
	if c == nil {
		c = &dropCell{}
		d.cells[key] = c
	}
	return c
}

// due returns the oldest numbers that changed since they were written, and forgets those that will not change any more.
func (d *drops) due(s *state.State, now time.Time) (keys []dropKey, records []Dropped) {
	d.mu.Lock()
	defer d.mu.Unlock()
	minute := now.Unix() / 60
	for key, c := range d.cells {
		switch {
		case c.count != c.written:
			keys = append(keys, key)
		case key.minute < minute:
			delete(d.cells, key)
		}
	}
	slices.SortFunc(keys, func(a, b dropKey) int {
		return cmp.Or(cmp.Compare(a.minute, b.minute), cmp.Compare(a.site, b.site), cmp.Compare(a.reason, b.reason))
	})
	keys = keys[:min(len(keys), dropFlushCells)]
	for _, key := range keys {
		c := d.cells[key]
		records = append(records, Dropped{Version: 1, Site: s.Sites[key.site].Name, SiteID: key.site, Reason: string(key.reason),
			Minute: time.Unix(key.minute*60, 0).UTC(), Count: c.count, Source: d.source, Samples: slices.Clone(c.samples)})
	}
	return keys, records
}

// wrote notes that numbers are in the log.
func (d *drops) wrote(keys []dropKey, records []Dropped) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, key := range keys {
		if c := d.cells[key]; c != nil {
			c.written = max(c.written, records[i].Count)
		}
	}
}

// forget bounds the memory while there is no topic: numbers of earlier hours are given up.
func (d *drops) forget(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.cells {
		if key.minute < now.Unix()/60-60 {
			delete(d.cells, key)
		}
	}
}

// runDrops writes numbers to the topic until ctx ends, and then what is left.
func (i *Ingest) runDrops(ctx context.Context) {
	tick := time.NewTicker(dropFlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			i.flushDrops(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
			i.flushDrops(last)
			cancel()
			return
		}
	}
}

// flushDrops writes what is due as one batch. What could not be written is written the next time: numbers replace each other, so writing them
// twice does no harm.
func (i *Ingest) flushDrops(ctx context.Context) {
	s, now := i.cfg.Sites.State(), i.cfg.Now()
	if i.cfg.partitions(s, TopicDropped) < 1 {
		i.drops.forget(now)
		return
	}
	keys, numbers := i.drops.due(s, now)
	if len(keys) == 0 {
		return
	}
	records := make([]Record, len(numbers))
	for at := range numbers {
		value, err := json.Marshal(&numbers[at])
		if err != nil {
			panic("BUG: a number is not JSON: " + err.Error())
		}
		records[at] = Record{Key: []byte(numbers[at].Key()), Value: value, TimestampMs: now.UnixMilli()}
	}
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	if _, err := i.cfg.Appender.Append(ctx, TopicDropped, 0, records); err != nil {
		if !i.dropsFailed {
			i.cfg.Log.Warn("the numbers of refused hits are not written; they are kept and tried again", "topic", TopicDropped, "err", err)
		}
		i.dropsFailed = true
		return
	}
	i.dropsFailed = false
	i.drops.wrote(keys, numbers)
}
