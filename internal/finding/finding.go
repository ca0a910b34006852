// Package finding is what checks of stored files have to say. The same checks guard tests and are `weir verify`.
package finding

import "fmt"

// Finding is one thing that a check of files has found.
type Finding struct {
	// Note marks what is worth knowing and no damage: an unfinished write after an unclean stop, a file that could not be looked at.
	Note bool   `json:"note,omitempty"`
	File string `json:"file"`
	// Offset is the byte in the file; -1 when the whole file is meant.
	Offset int64  `json:"offset"`
	What   string `json:"what"`
	Do     string `json:"do"` // what to do about it
}

// Sink takes findings; nil is not allowed. It is called by one goroutine at a time.
type Sink func(Finding)

// String is the finding as one line.
func (f Finding) String() string {
	word, place := "damage", f.File
	if f.Note {
		word = "note"
	}
	if f.Offset >= 0 {
		place = fmt.Sprintf("%s at byte %d", f.File, f.Offset)
	}
	line := fmt.Sprintf("%s: %s: %s", word, place, f.What)
	if f.Do != "" {
		line += "; " + f.Do
	}
	return line
}

// Advice that fits more than one place.
const (
	// Restore is for files whose content is nowhere else.
	Restore = "stop the node and restore the whole data directory from a backup of one moment"
	// RestorePartition is for records of one partition.
	RestorePartition = "stop the node and restore this partition's directory from a backup; what is whole can still be read"
	// Derived is for files that follow from others.
	Derived = "stop the node and delete this file: it is made anew or done without"
	// StartNode is for what an unclean stop leaves.
	StartNode = "the next start finishes or drops it"
)
