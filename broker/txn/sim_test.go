package txn

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// world is a transactional id with its log and its partitions, without goroutines: the test says when a write or a marker
// gets through, and when the coordinator crashes.
type world struct {
	t   *testing.T
	env *env
	now time.Time
	txn *txn

	log     []metadata // committed
	pending *write
	toMark  []topicPartition // markers of the prepared transaction that are not written yet
	marking bool
	ids     int64

	// The model: who has records where that are not decided, and which producers were given out.
	open  map[topicPartition]producer
	given map[producer]bool
}

type write struct {
	rec  record.Record
	done func(now time.Time, err error)
}

func (w *world) write(_ *txn, rec record.Record, done func(now time.Time, err error)) {
	if w.pending != nil {
		w.t.Fatal("a second write while one is under way")
	}
	w.pending = &write{rec, done}
}

func (w *world) finish(t *txn) {
	if !t.meta.state.prepared() || w.marking {
		w.t.Fatalf("markers of a transaction that is %s, marking %v", t.meta.state, w.marking)
	}
	w.marking, w.toMark = true, t.meta.sorted()
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, env: testEnv(), now: time.Unix(1_700_000_000, 0), ids: 100,
		open: map[topicPartition]producer{}, given: map[producer]bool{},
	}
	w.txn = newTxn(testID, w.env, w)
	return w
}

// settleWrite commits the write under way, or fails it.
func (w *world) settleWrite(ok bool) {
	p := w.pending
	if p == nil {
		return
	}
	w.pending = nil
	if !ok {
		p.done(w.now, led.ErrNotWritten)
		return
	}
	w.commit(p)
	p.done(w.now, nil)
}

// commit puts a record into the log and checks what may follow what.
func (w *world) commit(p *write) {
	m, err := parseValue(p.rec.Value)
	if err != nil {
		w.t.Fatal(err)
	}
	m.lastEpoch = noEpoch // it is not stored
	if len(w.log) > 0 {
		w.checkStep(w.log[len(w.log)-1], m)
	}
	w.log = append(w.log, m)
}

// steps are the states that may follow each other.
var steps = map[state][]state{
	empty:          {empty, ongoing, prepareAbort},
	ongoing:        {ongoing, prepareCommit, prepareAbort},
	prepareCommit:  {completeCommit},
	prepareAbort:   {completeAbort},
	completeCommit: {empty, ongoing, prepareAbort},
	completeAbort:  {empty, ongoing, prepareAbort},
}

func (w *world) checkStep(from, to metadata) {
	allowed := false
	for _, s := range steps[from.state] {
		allowed = allowed || s == to.state
	}
	if !allowed {
		w.t.Fatalf("%s after %s", to.state, from.state)
	}
	if to.id == from.id && to.epoch < from.epoch {
		w.t.Fatalf("epoch %d after %d", to.epoch, from.epoch)
	}
	if len(from.partitions) > 0 && to.state.prepared() && len(to.partitions) != len(from.partitions) {
		w.t.Fatalf("%d partitions of %d are to get markers", len(to.partitions), len(from.partitions))
	}
	if from.state.prepared() && w.marking && len(w.toMark) > 0 {
		w.t.Fatalf("complete, but %v have no marker", w.toMark)
	}
}

// mark writes the next marker; after the last one the transaction is complete.
func (w *world) mark() {
	if !w.marking || w.pending != nil {
		return
	}
	if len(w.toMark) > 0 {
		delete(w.open, w.toMark[0])
		w.toMark = w.toMark[1:]
		return
	}
	w.txn.complete(w.now, func(_ time.Time, err error) {
		if err == nil {
			w.marking = false
		}
	})
}

// crash loses what is in memory, the write under way included unless it got through.
func (w *world) crash(written bool) {
	if p := w.pending; p != nil && written {
		w.commit(p)
	}
	w.pending, w.marking, w.toMark = nil, false, nil
	w.txn = newTxn(testID, w.env, w)
	if len(w.log) == 0 {
		return
	}
	w.txn.meta, w.txn.stored = w.log[len(w.log)-1], true
	if w.txn.meta.state.prepared() {
		w.finish(w.txn)
	}
}

func (w *world) freshID() int64 { w.ids++; return w.ids }

// settle lets everything that is under way get through.
func (w *world) settle(clients []*simClient) {
	for w.pending != nil || w.marking {
		w.settleWrite(true)
		for _, c := range clients {
			c.take()
		}
		w.mark()
	}
}

// simClient is a producer that keeps to the protocol: it repeats a request until it is answered, and gives up when it is fenced.
type simClient struct {
	w       *world
	version int16
	p       producer
	live    bool
	in      []topicPartition // of the running transaction, as the client knows it
	asked   *simRequest
}

type simRequest struct {
	kind   string
	tp     topicPartition
	commit bool
	res    *answer // nil while not answered
}

// send gives the request to the coordinator, again if need be.
func (c *simClient) send() {
	q, t, w := c.asked, c.w.txn, c.w
	done := func(a answer) {
		if c.asked == q { // else the client asked again, or somebody else, and does not hear this
			q.res = &a
		}
	}
	switch q.kind {
	case "init":
		t.initProducer(w.now, initRequest{timeoutMs: 60_000, freshID: w.freshID()}, done)
	case "add":
		t.add(w.now, c.p, c.version, []topicPartition{q.tp}, 0, done)
	case "end":
		t.end(w.now, endRequest{producer: c.p, commit: q.commit, version: c.version, freshID: w.freshID()}, done)
	}
}

// take looks at the answer, if there is one.
func (c *simClient) take() {
	q := c.asked
	if q == nil || q.res == nil {
		return
	}
	a := *q.res
	q.res = nil
	switch a.code {
	case codeNone:
	case codeConcurrentTransactions, codeCoordinatorNotAvailable, codeNotCoordinator:
		return // asked again
	case codeProducerFenced, codeInvalidProducerIDMapping:
		c.live, c.asked, c.in = false, nil, nil
		return
	case codeInvalidTxnState:
		if q.kind == "end" && c.version == versionTwo {
			c.live, c.asked, c.in = false, nil, nil // aborted for its length
			return
		}
		c.w.t.Fatalf("%s: INVALID_TXN_STATE, the client is in %v", q.kind, c.in)
	default:
		c.w.t.Fatalf("%s: code %d", q.kind, a.code)
	}
	c.asked = nil
	switch q.kind {
	case "init":
		if c.w.given[a.producer] {
			c.w.t.Fatalf("producer %v was given out before", a.producer)
		}
		c.w.given[a.producer] = true
		c.p, c.live, c.in = a.producer, true, nil
	case "add":
		c.in = append(c.in, q.tp)
		c.w.open[q.tp] = c.p
	case "end":
		c.checkEnd(q.commit)
		c.p, c.in = a.producer, nil
	}
}

// checkEnd looks for the promised outcome in the log: the client was told that it is decided.
func (c *simClient) checkEnd(commit bool) {
	for i := len(c.w.log) - 1; i >= 0; i-- {
		m := c.w.log[i]
		if !m.state.prepared() {
			continue
		}
		for _, tp := range c.in {
			if _, ok := m.partitions[tp]; !ok {
				c.w.t.Fatalf("ended a transaction with %v, the last one in the log had %v", c.in, m.sorted())
			}
		}
		if (m.state == prepareCommit) != commit {
			c.w.t.Fatalf("client was told commit=%v, the log says %s", commit, m.state)
		}
		return
	}
	c.w.t.Fatal("client was told that a transaction has ended, the log has none")
}

// next chooses what the client asks for.
func (c *simClient) next(op byte) {
	switch {
	case !c.live:
		c.asked = &simRequest{kind: "init"}
	case op&3 == 0 && len(c.in) > 0:
		c.asked = &simRequest{kind: "end", commit: op&4 == 0}
	default:
		c.asked = &simRequest{kind: "add", tp: topicPartition{testTopic, int32(op>>2) & 3}}
	}
}

// step does one thing that the byte chooses.
func (w *world) step(clients []*simClient, op byte) {
	c := clients[int(op>>6)%len(clients)]
	switch op & 15 {
	case 0, 1, 2, 3, 4, 5:
		if c.asked == nil {
			c.next(op >> 1)
		}
		c.send()
	case 6, 7, 8, 9:
		w.settleWrite(true)
	case 10:
		w.settleWrite(false)
	case 11, 12:
		w.mark()
	case 13:
		w.crash(op&16 != 0)
	case 14:
		w.now = w.now.Add(time.Duration(op>>4) * 5 * time.Second)
		w.txn.tick(w.now)
	}
	for _, c := range clients {
		c.take()
	}
}

// end lets everything come to rest and checks that nothing is left open.
func (w *world) end(clients []*simClient) {
	w.settle(clients)
	w.now = w.now.Add(2 * time.Minute)
	w.txn.tick(w.now)
	w.settle(clients)
	if w.txn.meta.state == ongoing || w.txn.meta.state.prepared() {
		w.t.Fatalf("transaction is %s after everything has timed out", w.txn.meta.state)
	}
	for tp, p := range w.open {
		w.t.Fatalf("partition %v never learned what became of the records of %v", tp, p)
	}
}

func runWorld(t *testing.T, ops []byte) {
	w := newWorld(t)
	clients := []*simClient{{w: w, version: versionTwo}, {w: w, version: versionOne}, {w: w, version: versionTwo}}
	for _, op := range ops {
		w.step(clients, op)
	}
	w.end(clients)
}

// Whatever comes in whatever order, crashes included: one write at a time, states follow each other as they may, no producer
// is given out twice, what a client was told about the end of a transaction is what the log says, every partition of a
// transaction gets its marker, and nothing stays open for ever.
func FuzzTransactionsKeepTheirInvariants(f *testing.F) {
	f.Add([]byte{0, 6, 0, 2, 6, 0, 6, 11, 11, 6, 0})
	f.Add([]byte{0, 6, 2, 6, 64, 6, 11, 11, 6, 64, 6, 66, 6, 13, 29, 0})
	f.Add([]byte{0, 6, 2, 6, 254, 6, 13, 11, 11, 6, 0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, ops []byte) { runWorld(t, ops) })
}

func TestTransactionsUnderFaults(t *testing.T) {
	seeds := 2000
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		ops := make([]byte, 50+rng.IntN(300))
		for i := range ops {
			ops[i] = byte(rng.Uint32())
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { runWorld(t, ops) })
	}
}

// A transaction from its beginning to its end, with a crash after each step, once with the write under way in the log and once
// without it: the client that asks again gets what it asked for.
func TestCrashAtEachStepOfATransaction(t *testing.T) {
	for _, version := range []int16{versionOne, versionTwo} {
		for _, commit := range []bool{true, false} {
			for _, written := range []bool{true, false} {
				for at := 0; ; at++ {
					w := newWorld(t)
					if !w.transaction(version, commit, at, written) {
						if at < 8 {
							t.Fatalf("a transaction has only %d steps", at)
						}
						break
					}
				}
			}
		}
	}
}

// transaction crashes before step number at, and returns false when there was no such step.
func (w *world) transaction(version int16, commit bool, at int, written bool) (crashed bool) {
	c := &simClient{w: w, version: version}
	n := 0
	tick := func() {
		if n == at {
			w.crash(written)
			crashed = true
		}
		n++
	}
	ask := func(q *simRequest) {
		c.asked = q
		for tries := 0; c.asked != nil; tries++ {
			if tries == 50 {
				w.t.Fatalf("%+v is never answered", q)
			}
			if w.pending == nil {
				c.send()
				tick()
			}
			w.settleWrite(true)
			tick()
			w.mark()
			tick()
			c.take()
		}
	}
	ask(&simRequest{kind: "init"})
	for _, p := range []int32{0, 1} {
		ask(&simRequest{kind: "add", tp: topicPartition{testTopic, p}})
	}
	ask(&simRequest{kind: "end", commit: commit})
	for w.pending != nil || w.marking {
		w.settleWrite(true)
		tick()
		w.mark()
		tick()
	}
	if !c.live {
		w.t.Fatal("the client was fenced by nobody")
	}
	if want := map[bool]state{true: completeCommit, false: completeAbort}[commit]; w.txn.meta.state != want {
		w.t.Fatalf("transaction is %s, want %s", w.txn.meta.state, want)
	}
	w.end([]*simClient{c})
	return crashed
}
