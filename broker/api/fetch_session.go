package api

import (
	"container/list"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sessionSafeFor is for how long a session is kept at least: one that is younger, or was used within that time, makes room for no other
// one of its size. Kafka's number.
const sessionSafeFor = 2 * time.Minute

// sessions are the fetch sessions of KIP-227. A client names all its partitions once and later only those of which it wants something
// else; it is answered with those partitions only that have records, an error, or another high watermark, last stable offset or log start than it was told.
//
// A session is a promise that costs memory on this side. It is made when there is room, or when an older one can go by the rule of Kafka:
// first one that was not used for sessionSafeFor, then the smallest one older than that if it is smaller than the one to come. Otherwise
// the answer says session 0, and the client goes on sending its whole list.
//
// Safe for concurrent use.
type sessions struct {
	maxSessions, maxPartitions int // of all sessions together
	metrics                    *metrics

	mu         sync.Mutex
	byID       map[int32]*session
	partitions int
}

// session is what a client has named and was told last. Guarded by sessions.mu.
type session struct {
	id            int32
	epoch         int32 // that the next request must have
	ids           bool  // its topics are named by id, from Fetch v13 on
	created, used time.Time
	order         list.List // of *told: who had records last comes last, so that large partitions do not starve the others
	parts         map[partitionKey]*list.Element
}

// partitionKey names a partition as the request did: by the topic's name before Fetch v13, by its id from then on.
type partitionKey struct {
	topic  string
	id     [16]byte
	number int32
}

// fetching is what a client wants of one partition.
type fetching struct {
	key      partitionKey
	offset   int64
	maxBytes int32
	epoch    int32
}

// told is a partition of a session. The offsets are -1 after an error, so that its end is told too.
type told struct {
	fetching
	highWatermark, lastStable, logStart int64
}

// exchange is one request and its answer.
type exchange struct {
	wants   []fetching
	ids     bool
	create  bool
	session *session // nil for a request with the whole list
	epoch   int32    // of session when this exchange began
}

func newSessions(maxSessions, maxPartitions int, m *metrics) *sessions {
	return &sessions{maxSessions: maxSessions, maxPartitions: maxPartitions, metrics: m, byID: make(map[int32]*session)}
}

// begin finds out what a request asks for. The errors are those of the protocol and concern the whole request.
func (c *sessions) begin(q *kmsg.FetchRequest, now time.Time) (*exchange, error) {
	x := &exchange{ids: q.Version >= 13}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.gauge()
	s := c.byID[q.SessionID]
	if q.SessionEpoch == 0 || q.SessionEpoch == -1 {
		if s != nil {
			c.drop(s)
		}
		x.wants, x.create = wantedOf(q), q.SessionEpoch == 0
		return x, nil
	}
	switch {
	case s == nil:
		return nil, kerr.FetchSessionIDNotFound
	case s.epoch != q.SessionEpoch:
		return nil, kerr.InvalidFetchSessionEpoch
	case s.ids != x.ids:
		return nil, kerr.FetchSessionTopicIDError
	}
	c.update(s, q)
	if s.order.Len() == 0 {
		c.drop(s)
		return x, nil
	}
	s.used = now
	if !c.makeRoom(s.order.Len(), now, s) {
		c.drop(s) // it has grown too large: the client comes back with its whole list
		return nil, kerr.FetchSessionIDNotFound
	}
	s.epoch = nextEpoch(s.epoch)
	x.session, x.epoch = s, s.epoch
	x.wants = make([]fetching, 0, s.order.Len())
	for e := s.order.Front(); e != nil; e = e.Next() {
		x.wants = append(x.wants, e.Value.(*told).fetching)
	}
	return x, nil
}

// finish notes what is about to be told and marks the partitions that need not be. It returns the session for the answer, 0 for none.
func (c *sessions) finish(x *exchange, parts []polled, now time.Time) (id int32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.gauge()
	s := x.session
	switch {
	case s == nil && (!x.create || len(parts) == 0):
		return 0, nil
	case s == nil:
		return c.create(x, parts, now), nil
	case s.epoch != x.epoch || c.byID[s.id] != s:
		return 0, kerr.InvalidFetchSessionEpoch // someone else has used the session meanwhile
	}
	for i := range parts {
		part := &parts[i]
		e := s.parts[part.key]
		t := e.Value.(*told)
		part.unchanged = part.bytes == 0 && part.err == nil &&
			t.highWatermark == part.highWatermark && t.lastStable == part.lastStable && t.logStart == part.logStart
		t.highWatermark, t.lastStable, t.logStart = part.highWatermark, part.lastStable, part.logStart
		if part.bytes > 0 {
			s.order.MoveToBack(e)
		}
	}
	return s.id, nil
}

// untold is finish for an answer that tells nothing of any partition; no session is made for it.
func (c *sessions) untold(x *exchange) (id int32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := x.session; {
	case s == nil:
		return 0, nil
	case s.epoch != x.epoch || c.byID[s.id] != s:
		return 0, kerr.InvalidFetchSessionEpoch // someone else has used the session meanwhile
	default:
		return s.id, nil
	}
}

// create makes a session and returns its id, 0 when there is no room.
func (c *sessions) create(x *exchange, parts []polled, now time.Time) int32 {
	if !c.makeRoom(len(parts), now, nil) {
		return 0
	}
	s := &session{epoch: 1, ids: x.ids, created: now, used: now, parts: make(map[partitionKey]*list.Element, len(parts))}
	for s.id == 0 || c.byID[s.id] != nil {
		s.id = rand.Int32N(math.MaxInt32) // so that a client of before a restart does not meet another's session
	}
	for i := range parts {
		c.want(s, x.wants[i])
		t := s.parts[x.wants[i].key].Value.(*told)
		t.highWatermark, t.lastStable, t.logStart = parts[i].highWatermark, parts[i].lastStable, parts[i].logStart
	}
	c.byID[s.id] = s
	return s.id
}

// update applies what a request changes in its session.
func (c *sessions) update(s *session, q *kmsg.FetchRequest) {
	for _, w := range wantedOf(q) {
		c.want(s, w)
	}
	for i := range q.ForgottenTopics {
		t := &q.ForgottenTopics[i]
		for _, n := range t.Partitions {
			key := keyOf(q.Version, t.Topic, t.TopicID, n)
			if e := s.parts[key]; e != nil {
				s.order.Remove(e)
				delete(s.parts, key)
				c.partitions--
			}
		}
	}
}

func (c *sessions) want(s *session, w fetching) {
	if e := s.parts[w.key]; e != nil {
		e.Value.(*told).fetching = w
		return
	}
	s.parts[w.key] = s.order.PushBack(&told{fetching: w, highWatermark: -1, lastStable: -1, logStart: -1})
	c.partitions++
}

// makeRoom drops sessions until one of size partitions fits, and says whether it does. own is that session when it is there already.
func (c *sessions) makeRoom(size int, now time.Time, own *session) bool {
	added, more := 1, size
	if own != nil {
		added, more = 0, 0
	}
	if size > c.maxPartitions {
		return false
	}
	for len(c.byID)+added > c.maxSessions || c.partitions+more > c.maxPartitions {
		var oldest, smallest *session
		for _, s := range c.byID {
			if s == own {
				continue
			}
			if oldest == nil || s.used.Before(oldest.used) {
				oldest = s
			}
			if now.Sub(s.created) > sessionSafeFor && (smallest == nil || s.order.Len() < smallest.order.Len()) {
				smallest = s
			}
		}
		switch {
		case oldest != nil && now.Sub(oldest.used) > sessionSafeFor:
			c.drop(oldest)
		case smallest != nil && smallest.order.Len() < size:
			c.drop(smallest)
		default:
			return false
		}
		c.metrics.sessionsEvicted.Inc()
	}
	return true
}

func (c *sessions) drop(s *session) {
	delete(c.byID, s.id)
	c.partitions -= s.order.Len()
}

func (c *sessions) gauge() {
	c.metrics.sessions.Set(float64(len(c.byID)))
	c.metrics.sessionPartitions.Set(float64(c.partitions))
}

// nextEpoch follows e; 0 and -1 have meanings of their own.
func nextEpoch(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

func keyOf(version int16, topic string, id [16]byte, number int32) partitionKey {
	if version >= 13 {
		return partitionKey{id: id, number: number}
	}
	return partitionKey{topic: topic, number: number}
}

// wantedOf lists the partitions that a request names, in its order.
func wantedOf(q *kmsg.FetchRequest) []fetching {
	n := 0
	for i := range q.Topics {
		n += len(q.Topics[i].Partitions)
	}
	list := make([]fetching, 0, n)
	for i := range q.Topics {
		t := &q.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			list = append(list, fetching{keyOf(q.Version, t.Topic, t.TopicID, p.Partition), p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch})
		}
	}
	return list
}
