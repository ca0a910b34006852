package web

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/weir-analytics/weir/web/reply"
)

// ReceivedQuery says which ranges of the log are asked for.
type ReceivedQuery struct {
	Topic        string // empty: all
	Partition    int32  // -1: all
	Since, Until time.Time
	Limit        int
}

const (
	receivedLimit = 10_000 // ranges, about 2.5 MB of answer
	receivedLast  = time.Hour
)

// received answers GET /received: what the partitions of the log have taken in, by minute.
func (s *Server) received(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Received == nil {
		reply.Fail(w, r, s.log, errOtherLog)
		return
	}
	q, err := parseReceived(r.URL.Query(), s.cfg.Now())
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	answer, err := s.cfg.Received(r.Context(), q)
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	reply.JSON(w, http.StatusOK, answer)
}

func parseReceived(v url.Values, now time.Time) (ReceivedQuery, error) {
	q := ReceivedQuery{Topic: v.Get("topic"), Partition: -1, Since: now.Add(-receivedLast), Limit: receivedLimit}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		if text := v.Get(t.name); text != "" {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return q, reply.Invalid(t.name, "%q is no time such as 2026-03-01T09:00:00Z", text)
			}
			*t.to = at
		}
	}
	if text := v.Get("partition"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return q, reply.Invalid("partition", "%q is no number of a partition", text)
		}
		q.Partition = int32(n)
	}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > receivedLimit {
			return q, reply.Invalid("limit", "%q is not in 1 to %d", text, receivedLimit)
		}
		q.Limit = n
	}
	return q, nil
}
