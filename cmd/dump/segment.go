package dump

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

const (
	looks       = 3       // at what is not whole: a running node may be writing it
	searchBytes = 1 << 20 // read at once where a sound batch is looked for
)

// segment prints the batches of a .log file. A tail of zeros is its end: space that the node writes ahead.
func (p *Printer) segment(name string) error {
	f, err := p.FS.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s := &reader{f: f, next: max(segmentBase(name), 0)}
	if s.size, err = f.Size(); err != nil {
		return err
	}
	decode := decoderOf(p.As, p.topic(name))
	for at := int64(0); at < s.size; {
		b, bad, err := s.batch(at)
		for look := 1; bad != nil && err == nil && p.Settle != nil && look < looks; look++ {
			p.Settle()
			b, bad, err = s.batch(at)
		}
		if err != nil {
			return err
		}
		if bad != nil {
			zeros, err := s.zeros(at)
			if err != nil || zeros {
				return err
			}
			next, err := s.search(at + 1)
			if err != nil {
				return err
			}
			what := bad.Error()
			if next < 0 {
				return p.damage(false, at, what+"; no sound batch follows (an unfinished write looks like that too: weir verify tells them apart)")
			}
			if err := p.damage(false, at, fmt.Sprintf("%s; the next sound batch is at byte %d", what, next)); err != nil {
				return err
			}
			at = next
			continue
		}
		if b.BaseOffset >= p.end() {
			return nil
		}
		s.next = b.NextOffset()
		if b.LastOffset() >= p.From {
			if err := p.batch(b, at, decode); err != nil {
				return err
			}
		}
		at += int64(b.Size())
	}
	return nil
}

// reader reads batches of a file.
type reader struct {
	f    vfs.File
	size int64
	next int64 // offset that the next batch has at least
}

// batch reads the batch at a byte. bad says why there is none.
func (s *reader) batch(at int64) (b record.Batch, bad, err error) {
	head, err := s.read(at, min(record.HeaderSize, s.size-at))
	if err != nil {
		return b, nil, err
	}
	if b, bad = record.ParseHeader(head); bad != nil {
		return b, bad, nil
	}
	n, _ := record.Size(head)
	switch {
	case int64(n) > s.size-at:
		return b, fmt.Errorf("%w: it says %d bytes, the file has %d more", record.ErrShort, n, s.size-at), nil
	case b.BaseOffset < s.next || b.NextOffset() <= b.BaseOffset:
		return b, fmt.Errorf("%w: offset %d, at least %d is expected", record.ErrCorrupt, b.BaseOffset, s.next), nil
	}
	whole, err := s.read(at, int64(n))
	if err != nil {
		return b, nil, err
	}
	b, bad = record.Check(whole)
	return b, bad, nil
}

func (s *reader) read(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := s.f.ReadAt(b, at)
	if errors.Is(err, io.EOF) { // cut meanwhile
		return b[:got], nil
	}
	return b[:got], err
}

// zeros says whether only zeros follow.
func (s *reader) zeros(at int64) (bool, error) {
	for at < s.size {
		b, err := s.read(at, min(searchBytes, s.size-at))
		if err != nil || len(bytes.TrimLeft(b, "\x00")) > 0 {
			return false, err
		}
		if len(b) == 0 {
			return true, nil
		}
		at += int64(len(b))
	}
	return true, nil
}

// search returns where the next sound batch is, -1 when there is none.
func (s *reader) search(at int64) (int64, error) {
	for ; at+record.HeaderSize <= s.size; at += searchBytes {
		b, err := s.read(at, min(searchBytes+record.HeaderSize, s.size-at))
		if err != nil {
			return -1, err
		}
		for i := 0; i < searchBytes && i+record.HeaderSize <= len(b); i++ {
			if b[i+16] != 2 { // magic
				continue
			}
			if _, err := record.ParseHeader(b[i:]); err != nil {
				continue
			}
			_, bad, err := s.batch(at + int64(i))
			if err != nil {
				return -1, err
			}
			if bad == nil {
				return at + int64(i), nil
			}
		}
	}
	return -1, nil
}

func (p *Printer) batch(b record.Batch, at int64, decode decoder) error {
	if p.Records {
		return p.records(b, at, decode)
	}
	l := line("batch", "position", at, "first_offset", b.BaseOffset, "last_offset", b.LastOffset(), "leader_epoch", b.LeaderEpoch,
		"count", b.Count, "codec", fmt.Sprint(b.Codec()), "bytes", b.Size())
	l.addTime("first_time", b.BaseTimestampMs)
	l.addTime("last_time", b.MaxTimestampMs)
	if b.LogAppendTime() {
		l.add("log_append_time", true)
	}
	if b.ProducerID != record.NoProducer {
		l.add("producer_id", b.ProducerID)
		l.add("producer_epoch", b.ProducerEpoch)
		if !b.Control() {
			l.add("first_sequence", b.BaseSequence)
			l.add("last_sequence", b.LastSequence())
		}
	}
	if b.Transactional() {
		l.add("transactional", true)
	}
	if b.Control() {
		l.add("control", true)
		if err := addMarker(&l, b); err != nil {
			return errors.Join(p.Emit(l), p.damage(false, at, err.Error()))
		}
	}
	return p.Emit(l)
}

func addMarker(l *Line, b record.Batch) error {
	m, ok, err := record.ParseMarker(b)
	if !ok || err != nil {
		return err
	}
	word := "abort"
	if m.Commit {
		word = "commit"
	}
	l.add("marker", word)
	l.add("coordinator_epoch", m.CoordinatorEpoch)
	return nil
}

func (p *Printer) records(b record.Batch, at int64, decode decoder) error {
	var failed error // of Emit
	bad := record.ForEach(b.Raw, func(r record.Record) error {
		offset := b.BaseOffset + int64(r.OffsetDelta)
		if offset < p.From || offset >= p.end() {
			return nil
		}
		l := line("record", "offset", offset)
		l.addTime("time", r.TimestampMs)
		if b.Transactional() {
			l.add("producer_id", b.ProducerID)
			l.add("transactional", true)
		}
		if b.Control() {
			l.add("control", true)
			if err := addMarker(&l, b); err != nil {
				return err
			}
		} else {
			decode.add(&l, r)
		}
		for _, h := range r.Headers {
			name := "header." + h.Key
			if !isText([]byte(h.Key)) {
				name = "header.0x" + hex.EncodeToString([]byte(h.Key))
			}
			l.addBytes(name, h.Value)
		}
		failed = p.Emit(l)
		return failed
	})
	if failed != nil || bad == nil {
		return failed
	}
	return p.damage(false, at, bad.Error())
}
