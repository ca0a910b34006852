package meter

import (
	"cmp"
	"slices"
)

// Fault is a place where ranges of a partition do not join up.
type Fault struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Minute    Minute `json:"minute"`
	// From and To are the offsets that no range has (a gap), or that two have
	// (an overlap, with To below From).
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Audit sorts ranges by topic, partition and offset, leaves out those that are
// there twice, and returns where they do not join up. Ranges of a topic that was
// made again begin anew.
func Audit(ranges []Range) (sorted []Range, faults []Fault) {
	sorted = slices.Clone(ranges)
	slices.SortStableFunc(sorted, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.TopicID, b.TopicID), cmp.Compare(a.Partition, b.Partition),
			cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	sorted = slices.Compact(sorted)
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if a.TopicID == b.TopicID && a.Partition == b.Partition && a.To != b.From {
			faults = append(faults, Fault{b.Topic, b.Partition, b.Minute, a.To, b.From})
		}
	}
	return sorted, faults
}
