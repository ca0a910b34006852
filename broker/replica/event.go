package replica

import (
	"errors"

	"github.com/weir-analytics/weir/broker/compact"
	"github.com/weir-analytics/weir/broker/seglog"
)

// Event is a rare and important thing that happened to a replica. Those of its
// log come wrapped in a Log. All are written to the program's log as well.
type Event interface{ event() }

// Log is an event of the partition's log.
type Log struct{ seglog.Event }

// LeaderChanged is reported when the replica begins or ends to serve.
type LeaderChanged struct {
	Epoch   int32
	Serving bool
}

// Stopped is reported once when the replica stops by itself.
type Stopped struct{ Err error }

// Damaged is reported once when a reader came to stored bytes that are not what
// was written. The replica goes on: what is whole can be read, and new records
// are taken.
type Damaged struct{ Err error }

// StartMoved is reported when the log start was moved by a committed command.
type StartMoved struct{ LogStart int64 }

// Restored is reported when the replica began anew from a leader's snapshot.
type Restored struct{ Anchor seglog.Anchor }

// IndexRebuilt is reported when the index of aborted transactions was missing or
// damaged and was made anew from the log.
type IndexRebuilt struct {
	Cause        error
	Transactions int
}

// Cleaned is reported when a round of the cleaner has rewritten the log.
type Cleaned struct{ compact.Result }

func (Log) event()           {}
func (LeaderChanged) event() {}
func (Stopped) event()       {}
func (Damaged) event()       {}
func (StartMoved) event()    {}
func (Restored) event()      {}
func (IndexRebuilt) event()  {}
func (Cleaned) event()       {}

// report logs an event and tells the owner.
func (r *Replica) report(e Event) {
	log := r.cfg.Log
	switch e := e.(type) {
	case LeaderChanged:
		log.Debug("leadership changed", "term", e.Epoch, "serving", e.Serving)
	case Stopped:
		if errors.Is(e.Err, ErrCorrupt) {
			log.Error("the partition is damaged and refuses to be read or written; nothing was deleted. Restore it while the node is stopped", "err", e.Err)
		} else {
			log.Error("the partition has stopped after a failed write and takes nothing until it was opened again; nothing was deleted", "err", e.Err)
		}
	case Damaged:
		log.Error("stored records of the partition are damaged: readers stop there, until the file was restored while the node is stopped", "err", e.Err)
	case StartMoved:
		log.Info("log start moved", "offset", e.LogStart)
	case Restored:
		log.Info("began anew from a snapshot", "offset", e.Anchor.NextOffset)
	case IndexRebuilt:
		log.Warn("index of aborted transactions made anew from the log", "transactions", e.Transactions, "err", e.Cause)
	case Cleaned:
		log.Debug("cleaned", "offset", e.End, "records", e.Records, "removed", e.Removed, "bytes", e.BytesAfter, "bytes_before", e.BytesBefore)
	case Log:
		switch e := e.Event.(type) {
		case seglog.Recovered:
			if e.DroppedBytes > 0 {
				log.Warn("unfinished write dropped after an unclean stop", "offset", e.NextOffset, "bytes", e.DroppedBytes)
			} else {
				log.Debug("log read through after an unclean stop", "offset", e.NextOffset)
			}
		case seglog.Truncated:
			log.Info("uncommitted records removed, the leader has others", "offset", e.NextOffset)
		case seglog.Retired:
			log.Info("old segments deleted", "segments", e.Segments, "bytes", e.Bytes, "offset", e.Anchor.NextOffset)
		}
	}
	r.cfg.Metrics.event(e)
	r.cfg.OnEvent(e)
}
