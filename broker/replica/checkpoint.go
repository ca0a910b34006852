package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

// saved is the applied state of a partition at one entry. As a checkpoint
// (ckpt-N, near the end of the log) it bounds what a restart replays; as the
// anchor's state (anchor-N, at the log start) it is what a follower that is
// behind the log start begins with. Both follow from the log alone.
//
//	 0    4      6        8        16        24       32          40
//	 +----+------+--------+--------+---------+--------+-----------+--
//	 |WCKP| vers.| 0      | index  | term    | next   | log start |
//	 +----+------+--------+--------+---------+--------+-----------+--
//	40             48           56              60
//	 +-------------+------------+---------------+--------+-----------+--------+
//	 | config index| last stamp | config length | config | producers | crc32c |
//	 +-------------+------------+---------------+--------+-----------+--------+
type saved struct {
	index       uint64
	term        uint64
	next        int64 // offset after the last applied record: the high watermark
	logStart    int64
	config      []byte // membership at or below index, as raft encodes it
	configIndex uint64
	lastStampMs int64 // newest LogAppendTime of a batch, 0 when there is none
	producers   producers
	// aborted is how much of the index of aborted transactions was durable; in
	// the anchor's state it is empty.
	aborted []seglog.AbortedSum
}

const (
	ckptMagic   = "WCKP"
	ckptVersion = 2
	ckptFixed   = 60
	// maxSavedBytes is more than a million producers take.
	maxSavedBytes = 256 << 20

	ckptPrefix   = "ckpt-"
	anchorPrefix = "anchor-"
	keepSaved    = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *saved) encode() []byte {
	b := make([]byte, ckptFixed, ckptFixed+len(s.config)+len(s.producers)*128+len(s.aborted)*abortedSumSize+8)
	copy(b, ckptMagic)
	binary.BigEndian.PutUint16(b[4:], ckptVersion)
	binary.BigEndian.PutUint64(b[8:], s.index)
	binary.BigEndian.PutUint64(b[16:], s.term)
	binary.BigEndian.PutUint64(b[24:], uint64(s.next))
	binary.BigEndian.PutUint64(b[32:], uint64(s.logStart))
	binary.BigEndian.PutUint64(b[40:], s.configIndex)
	binary.BigEndian.PutUint64(b[48:], uint64(s.lastStampMs))
	binary.BigEndian.PutUint32(b[56:], uint32(len(s.config)))
	b = append(b, s.config...)
	b = s.producers.appendTo(b)
	b = appendAbortedSums(b, s.aborted)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

const abortedSumSize = 16

// appendAbortedSums encodes a count u32 and per segment its base i64, the number
// of entries u32 and their checksum u32.
func appendAbortedSums(dst []byte, list []seglog.AbortedSum) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(list)))
	for _, a := range list {
		dst = binary.BigEndian.AppendUint64(dst, uint64(a.Base))
		dst = binary.BigEndian.AppendUint32(dst, a.Count)
		dst = binary.BigEndian.AppendUint32(dst, a.CRC)
	}
	return dst
}

func parseAbortedSums(b []byte) (list []seglog.AbortedSum, rest []byte, err error) {
	if len(b) < 4 || int64(len(b)-4) < int64(binary.BigEndian.Uint32(b))*abortedSumSize {
		return nil, nil, fmt.Errorf("%w: table of aborted transactions is cut short", ErrCorrupt)
	}
	count := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range count {
		list = append(list, seglog.AbortedSum{
			Base: int64(binary.BigEndian.Uint64(b)), Count: binary.BigEndian.Uint32(b[8:]), CRC: binary.BigEndian.Uint32(b[12:]),
		})
		b = b[abortedSumSize:]
	}
	return list, b, nil
}

func parseSaved(b []byte, nowMs int64) (*saved, error) {
	bad := func(what string) (*saved, error) {
		return nil, fmt.Errorf("%w: saved state: %s", ErrCorrupt, what)
	}
	if len(b) < ckptFixed+4 || string(b[:4]) != ckptMagic {
		return bad("not a file of ours")
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return bad("wrong checksum")
	}
	version := binary.BigEndian.Uint16(b[4:])
	if version < 1 || version > ckptVersion {
		return bad(fmt.Sprintf("version %d, this program reads 1 to %d", version, ckptVersion))
	}
	s := &saved{
		index:       binary.BigEndian.Uint64(b[8:]),
		term:        binary.BigEndian.Uint64(b[16:]),
		next:        int64(binary.BigEndian.Uint64(b[24:])),
		logStart:    int64(binary.BigEndian.Uint64(b[32:])),
		configIndex: binary.BigEndian.Uint64(b[40:]),
		lastStampMs: int64(binary.BigEndian.Uint64(b[48:])),
	}
	n := binary.BigEndian.Uint32(b[56:])
	rest := body[ckptFixed:]
	if int64(n) > int64(len(rest)) {
		return bad("membership is cut short")
	}
	s.config = slices.Clone(rest[:n])
	var err error
	if s.producers, rest, err = parseProducers(rest[n:], version, nowMs); err != nil {
		return nil, err
	}
	if version > 1 {
		if s.aborted, rest, err = parseAbortedSums(rest); err != nil {
			return nil, err
		}
	}
	if len(rest) != 0 {
		return bad("bytes at the end")
	}
	return s, nil
}

func savedName(prefix string, index uint64) string { return fmt.Sprintf("%s%020d", prefix, index) }

// listSaved returns the indexes of the saved states with a prefix, newest first.
func listSaved(fsys vfs.FS, dir, prefix string) ([]uint64, error) {
	names, err := fsys.List(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var out []uint64
	for _, name := range names {
		if digits, ok := strings.CutPrefix(name, prefix); ok && len(digits) == 20 {
			if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
				out = append(out, n)
			}
		}
	}
	slices.SortFunc(out, func(a, b uint64) int {
		if a > b {
			return -1
		}
		return 1
	})
	return out, nil
}

func readSaved(fsys vfs.FS, dir, prefix string, index uint64, nowMs int64) (*saved, error) {
	name := savedName(prefix, index)
	b, err := vfs.ReadFile(fsys, dir+"/"+name, maxSavedBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	s, err := parseSaved(b, nowMs)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if s.index != index {
		return nil, fmt.Errorf("read %s: %w: it is of entry %d", name, ErrCorrupt, s.index)
	}
	return s, nil
}

// writeSaved makes a saved state durable and removes the older ones but keep-1.
func writeSaved(fsys vfs.FS, dir, prefix string, s *saved, keep int) error {
	name := savedName(prefix, s.index)
	if err := vfs.WriteFile(fsys, dir, name, s.encode()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	list, err := listSaved(fsys, dir, prefix)
	if err != nil {
		return fmt.Errorf("list saved states: %w", err)
	}
	for _, index := range list {
		if index >= s.index {
			continue
		}
		if keep--; keep > 0 {
			continue
		}
		if err := fsys.Remove(dir + "/" + savedName(prefix, index)); err != nil {
			return fmt.Errorf("remove old saved state: %w", err)
		}
	}
	return nil
}
