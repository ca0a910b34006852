package meter

import (
	"context"
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// Query says which ranges are wanted.
type Query struct {
	Topic     string // empty: all
	Partition int32  // -1: all
	// Since and Until bound the minutes, Until excluded. A zero Until has no bound.
	Since, Until time.Time
	Limit        int // ranges at most
}

// Answer is what was asked for.
type Answer struct {
	Ranges []Range `json:"ranges"`
	// More says that there are ranges beyond the limit: ask again from the minute
	// of the last one on.
	More bool `json:"more"`
	// Faults are the places where the ranges in this answer do not join up.
	Faults []Fault `json:"faults"`
}

// Find reads ranges from the topic, sorted by topic, partition and offset. Until
// the topic is made there are none.
func (m *Meter) Find(ctx context.Context, q Query) (Answer, error) {
	answer := Answer{Ranges: []Range{}, Faults: []Fault{}}
	if !m.cfg.Log.Exists() {
		return answer, nil
	}
	from, ok, err := m.cfg.Log.OffsetForTime(q.Since.UnixMilli())
	if err != nil || !ok {
		return answer, err
	}
	_, end := m.cfg.Log.Bounds()
	since := MinuteOf(q.Since)
	err = m.forEach(ctx, from, end, func(r record.Record) error {
		one, ok, err := Parse(r.Key, r.Value)
		switch {
		case err != nil || !ok:
			return err
		case one.Minute < since, !q.Until.IsZero() && one.Minute.Time().Compare(q.Until) >= 0,
			q.Topic != "" && one.Topic != q.Topic, q.Partition >= 0 && one.Partition != q.Partition:
		case len(answer.Ranges) == q.Limit:
			answer.More = true
		default:
			answer.Ranges = append(answer.Ranges, one)
		}
		return nil
	})
	if err != nil {
		return answer, err
	}
	sorted, faults := Audit(answer.Ranges)
	answer.Ranges, answer.Faults = sorted, append(answer.Faults, faults...)
	return answer, nil
}
