package seglog

// Epoch says at which offset the records of a term begin. A term without
// records has an epoch only while it is the newest; its start is then the
// offset of the next record.
type Epoch struct {
	Term  uint32
	Start int64
}

// noteEpoch extends the list by an entry of a term at the end of the log.
func noteEpoch(list []Epoch, term uint32, start int64) []Epoch {
	if n := len(list); n > 0 {
		switch {
		case list[n-1].Term == term:
			return list
		case list[n-1].Start == start: // the older term has no records
			return noteEpoch(list[:n-1:n-1], term, start)
		}
	}
	return append(list[:len(list):len(list)], Epoch{term, start})
}

// epochsOf derives the list from the segments, each of which holds batches of
// one term only.
func epochsOf(segs []*segment, lastTerm uint32, next int64) []Epoch {
	var list []Epoch
	for _, s := range segs {
		if s.sum.batchTerm != 0 {
			list = noteEpoch(list, s.sum.batchTerm, s.head.base)
		}
	}
	if lastTerm != 0 {
		list = noteEpoch(list, lastTerm, next)
	}
	return list
}

// Epochs returns the epochs of the log, oldest first. The slice is not changed
// afterwards.
func (l *Log) Epochs() []Epoch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.epochs
}

// EpochEnd answers Kafka's OffsetForLeaderEpoch: the largest epoch that is not
// above the one asked for, and the offset at which it ends. (-1, -1) means that
// the log can't say. end is the offset at which the newest epoch ends.
func (l *Log) EpochEnd(epoch int32, end int64) (found int32, offset int64) {
	list := l.Epochs()
	if epoch < 0 || len(list) == 0 || epoch > int32(list[len(list)-1].Term) {
		return -1, -1
	}
	if epoch == int32(list[len(list)-1].Term) {
		return epoch, end
	}
	i := 0
	for int32(list[i].Term) <= epoch {
		i++
	}
	if i == 0 { // older than all that is kept: everything kept is newer
		return epoch, list[0].Start
	}
	return int32(list[i-1].Term), min(list[i].Start, end)
}
