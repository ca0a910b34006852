package raftfsm

import "errors"

// ErrUnavailable is returned when a change was certainly not made: this node does not lead the controller, or is stopping.
var ErrUnavailable = errors.New("the controller is not available; nothing was changed, try again")

// ErrOutcomeUnknown is returned when waiting for a change ended before its outcome was known. It may or may not be made.
var ErrOutcomeUnknown = errors.New("the outcome of the change is unknown; look before trying again")

// ErrNotEmpty is returned by Open for a directory that holds other files but no weir data.
var ErrNotEmpty = errors.New("the data directory is not empty and holds no weir data")

// ErrDataLost is returned by Open when the directory says that it was a member of a cluster, but its controller data is gone.
var ErrDataLost = errors.New("the controller's data is missing")

// ErrIdentity is returned by Open when the configured node or cluster id is not the one of the directory.
var ErrIdentity = errors.New("the data directory belongs to another node or cluster")

// ErrLocked is returned by Open when another process has the directory open.
var ErrLocked = errors.New("another process uses the data directory")
