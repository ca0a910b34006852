package led

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// What appends of a coordinator to its partition return. Any other error means that the records may or may not be in the log, now or later.
var (
	// ErrNotWritten is returned when the records are certainly not in the log and the same call may succeed later: the queue
	// is full, the partition is not ready or refuses writes.
	ErrNotWritten = errors.New("not written")
	// ErrNotLeader is returned when the records are certainly not in the log because another node leads.
	ErrNotLeader = errors.New("not written: this node does not lead the partition")
	// ErrTooLarge is returned when the records are certainly not in the log and never will be, because the batch is larger
	// than the partition takes.
	ErrTooLarge = errors.New("not written: batch too large")

	// ErrUnloaded ends what waits for a shard that has been given up.
	ErrUnloaded = errors.New("partition is no longer coordinated here")
)

// StoreCode is the answer to a client whose change could not be stored. Each code makes a client look for the coordinator and try
// again, which is safe; none claims that the change was not made, because the outcome may be unknown.
func StoreCode(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNotLeader), errors.Is(err, ErrUnloaded):
		return kerr.NotCoordinator.Code
	case errors.Is(err, ErrTooLarge):
		return kerr.UnknownServerError.Code
	default:
		return kerr.CoordinatorNotAvailable.Code
	}
}
