package api

import (
	"encoding/binary"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// encodeFetch writes the answer of Fetch v4-18 by hand, so that record batches go to the socket from where they were read. Big endian:
//
//	throttle i32 | v7: error i16, session i32 | topics [ name, v13: id 16 bytes | partitions [
//	    number i32 | error i16 | high watermark i64 | last stable i64 | v5: log start i64 |
//	    aborted [ producer id i64 | first offset i64 | v12: tags ] | v11: preferred replica i32 | records bytes | v12: tags ] | v12: tags ] | v12: tags
//
// From v12 lengths of arrays, strings and bytes are uvarints of length+1, and null is 0; before that they are i32 (strings i16) with
// -1 for null. parts keep their order; neighbours of one topic share its entry, and those that are unchanged are left out.
func encodeFetch(q *kmsg.FetchRequest, session int32, parts []polled) net.Buffers {
	w := fetchWriter{flexible: q.Version >= 12, head: make([]byte, 0, 64+64*len(parts))}
	w.int32(0)
	if q.Version >= 7 {
		w.int16(0)
		w.int32(session)
	}
	shown := make([]*polled, 0, len(parts))
	for i := range parts {
		if !parts[i].unchanged {
			shown = append(shown, &parts[i])
		}
	}
	groups := 0
	for i := range shown {
		if i == 0 || !sameTopic(shown[i-1], shown[i]) {
			groups++
		}
	}
	w.length(groups)
	for len(shown) > 0 {
		n := 1
		for n < len(shown) && sameTopic(shown[0], shown[n]) {
			n++
		}
		if q.Version >= 13 {
			w.head = append(w.head, shown[0].key.id[:]...)
		} else {
			w.string(shown[0].key.topic)
		}
		w.length(n)
		for _, part := range shown[:n] {
			w.partition(q, part)
		}
		w.tags()
		shown = shown[n:]
	}
	w.tags()
	return w.buffers()
}

func sameTopic(a, b *polled) bool { return a.key.topic == b.key.topic && a.key.id == b.key.id }

// fetchWriter collects what is between the records, and where in it the records go.
type fetchWriter struct {
	flexible bool
	head     []byte
	cuts     []cut
}

type cut struct {
	at   int
	data [][]byte
}

func (w *fetchWriter) partition(q *kmsg.FetchRequest, part *polled) {
	w.int32(part.key.number)
	w.int16(code(part.err))
	w.int64(part.highWatermark)
	w.int64(part.lastStable)
	if q.Version >= 5 {
		w.int64(part.logStart)
	}
	if q.IsolationLevel == 0 {
		w.length(-1)
	} else {
		w.length(len(part.aborted))
		for _, a := range part.aborted {
			w.int64(a.ProducerID)
			w.int64(a.FirstOffset)
			w.tags()
		}
	}
	if q.Version >= 11 {
		w.int32(-1)
	}
	w.length(part.bytes)
	if part.bytes > 0 {
		w.cuts = append(w.cuts, cut{len(w.head), part.data})
	}
	w.tags()
}

func (w *fetchWriter) int16(v int16) { w.head = binary.BigEndian.AppendUint16(w.head, uint16(v)) }
func (w *fetchWriter) int32(v int32) { w.head = binary.BigEndian.AppendUint32(w.head, uint32(v)) }
func (w *fetchWriter) int64(v int64) { w.head = binary.BigEndian.AppendUint64(w.head, uint64(v)) }

// length writes the length of an array or of bytes, -1 for null.
func (w *fetchWriter) length(n int) {
	if w.flexible {
		w.head = binary.AppendUvarint(w.head, uint64(n+1))
	} else {
		w.int32(int32(n))
	}
}

func (w *fetchWriter) string(s string) {
	if w.flexible {
		w.head = binary.AppendUvarint(w.head, uint64(len(s)+1))
	} else {
		w.int16(int16(len(s)))
	}
	w.head = append(w.head, s...)
}

func (w *fetchWriter) tags() {
	if w.flexible {
		w.head = append(w.head, 0)
	}
}

func (w *fetchWriter) buffers() net.Buffers {
	out := make(net.Buffers, 0, 2*len(w.cuts)+1)
	from := 0
	for _, c := range w.cuts {
		out = append(out, w.head[from:c.at])
		out = append(out, c.data...)
		from = c.at
	}
	return append(out, w.head[from:])
}
