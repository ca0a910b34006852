package delta

// Reader puts the records of a partition of rollup.deltas together to flushes, and lets through only those that count: whole, and at the
// offset they were meant for. Of two writers that once held the same partition, each writes its flush for the end of the log as it saw
// it; only one can land there, so only one counts.
//
// A Reader is not safe for concurrent use. It may begin at any offset; it takes the first flush that begins at or after it.
type Reader struct {
	held    []Delta // records of the flush that is being put together
	next    int64   // offset after the last of them
	skipped int
}

// Add takes the record at an offset. Offsets must rise. When the record completes a flush that counts, Add returns the records of the
// flush, which are valid until the next call; otherwise nil. parse is called to read the record, with memory to reuse.
func (r *Reader) Add(offset int64, parse func(*Delta) error) ([]Delta, error) {
	n := len(r.held)
	if n < cap(r.held) {
		r.held = r.held[:n+1]
	} else {
		r.held = append(r.held, Delta{})
	}
	d := &r.held[n]
	if err := parse(d); err != nil {
		r.drop()
		return nil, err
	}
	if n > 0 && (offset != r.next || d.Index != n || d.Flush != r.held[0].Flush) {
		// The flush before was torn off. This record may begin the next one.
		r.held[0], r.held[n] = r.held[n], r.held[0]
		r.held = r.held[:1]
		r.skipped++
		n, d = 0, &r.held[0]
	}
	if n == 0 && (d.Index != 0 || d.At >= 0 && d.At != offset) {
		if d.Index == d.Count-1 {
			r.skipped++
		}
		r.drop()
		return nil, nil
	}
	r.next = offset + 1
	if d.Index < d.Count-1 {
		return nil, nil
	}
	whole := r.held
	r.drop()
	return whole, nil
}

// Skipped returns how many flushes did not count so far.
func (r *Reader) Skipped() int { return r.skipped }

func (r *Reader) drop() { r.held = r.held[:0] }
