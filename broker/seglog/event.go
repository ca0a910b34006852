package seglog

// Event is a rare and important thing that happened to a log. Owners log them;
// tests assert on them.
type Event interface{ event() }

// Recovered is reported by Open after an unclean stop.
type Recovered struct {
	Base         int64  // of the segment that was read through
	LastIndex    uint64 // last entry kept
	NextOffset   int64
	DroppedBytes int64 // of unfinished writes after the last whole entry
}

// Rolled is reported when a segment was sealed and the next one begun.
type Rolled struct{ Base int64 }

// Truncated is reported when the newest entries were removed because the
// group's leader has others.
type Truncated struct {
	FromIndex  uint64
	NextOffset int64
}

// Retired is reported when whole segments below the log start were deleted.
type Retired struct {
	Anchor   Anchor
	Segments int
	Bytes    int64
}

// Failed is reported once when a write could not be undone.
type Failed struct{ Err error }

func (Recovered) event() {}
func (Rolled) event()    {}
func (Truncated) event() {}
func (Retired) event()   {}
func (Failed) event()    {}
