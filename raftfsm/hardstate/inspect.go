package hardstate

import (
	"fmt"

	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
)

// Record is one record of the file, in the order of writing.
type Record struct {
	Pos   int64 // of its first copy
	Group GroupID
	State State
	Gone  bool // the group is no more
	// Whole is false when one of its two copies is damaged.
	Whole bool
}

// Inspect reads the file without changing it and tells what is wrong with it.
// visit, unless nil, is given every record that can be read. An error means that
// the file could not be looked at.
func Inspect(fsys vfs.FS, name string, found finding.Sink, visit func(Record)) (map[GroupID]State, error) {
	b, err := vfs.ReadFile(fsys, name, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read hard state: %w", err)
	}
	states := map[GroupID]State{}
	tell := func(note bool, pos int, what, do string) {
		found(finding.Finding{Note: note, File: name, Offset: int64(pos), What: what, Do: do})
	}
	if len(b) < headerSize || string(b[:headerSize]) != string(fileHeader()) {
		tell(false, 0, fmt.Sprintf("not a file of votes of version %d", version), finding.Restore)
		return states, nil
	}
	for at := headerSize; at < len(b); {
		p, n, ok := parseRecord(b[at:])
		if !ok {
			next := nextCopy(b, at+1)
			if next < 0 {
				tell(true, at, "an unfinished write", finding.StartNode)
				return states, nil
			}
			tell(false, at, fmt.Sprintf("not a record, but there is one at byte %d: votes may be lost", next), finding.Restore)
			at = next
			continue
		}
		whole := n <= len(b)-at && string(b[at:at+p.size]) == string(b[at+p.size:at+n])
		if !whole && at+n <= len(b) {
			tell(true, at, "one of the two copies of a record is damaged, the other counts", "restart the node, which writes the file anew")
		}
		if visit != nil {
			visit(Record{int64(at), p.id, p.s, p.gone, whole})
		}
		at += n
		if p.gone {
			delete(states, p.id)
		} else {
			states[p.id] = p.s
		}
	}
	return states, nil
}

func nextCopy(b []byte, from int) int {
	for at := from; at+recordFixed <= len(b); at++ {
		if _, ok := parseCopy(b[at:]); ok {
			return at
		}
	}
	return -1
}
