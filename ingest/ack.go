package ingest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ack is how long a sender wants to wait for its answer.
type ack string

const (
	ackCommitted ack = ""        // until the hits are in the log: what is done without a word
	ackNone      ack = "none"    // not at all: the hits are queued in memory
	ackCounted   ack = "counted" // until they are in the counts
)

// headerAck says, to a sender that asked for a level, which one its hits had reached when the answer was sent: none, committed or counted.
const headerAck = "X-Weir-Ack"

// countedWithin bounds the wait for the counts: much longer than it takes, and shorter than proxies wait.
const countedWithin = 10 * time.Second

// ackOf reads ?ack=. A level that is not known is taken for the usual one.
func ackOf(r *http.Request) (level ack, asked bool) {
	if !strings.Contains(r.URL.RawQuery, "ack=") {
		return ackCommitted, false
	}
	for query := r.URL.RawQuery; query != ""; {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if name != "ack" {
			continue
		}
		value, _ = url.QueryUnescape(value)
		switch ack(value) {
		case ackNone, ackCounted:
			return ack(value), true
		}
		return ackCommitted, true
	}
	return ackCommitted, false
}

// settle has the queued hits written and waits as long as the sender wants, and says in a header how far they are. The error is one of the way to
// the log. Hits that are committed and not counted in time are no error: they are done, and will be counted.
func (t *intake) settle(w http.ResponseWriter, r *http.Request) error {
	if t.level == ackNone {
		t.flush()
		w.Header().Set(headerAck, "none")
		return nil
	}
	if err := t.wait(r.Context()); err != nil {
		return err
	}
	reached := "committed"
	if t.level == ackCounted && t.counted(r.Context()) {
		reached = "counted"
	}
	if t.asked {
		w.Header().Set(headerAck, reached)
	}
	return nil
}

// counted waits until the committed hits of this intake are in the counts, and reports whether they are.
func (t *intake) counted(ctx context.Context) bool {
	if t.i.cfg.Counted == nil {
		return false
	}
	offsets := map[int32]int64{}
	for _, b := range t.waits.batches {
		offsets[b.part] = max(offsets[b.part], b.next)
	}
	ctx, cancel := context.WithTimeout(ctx, countedWithin)
	defer cancel()
	return t.i.cfg.Counted(ctx, offsets) == nil
}
