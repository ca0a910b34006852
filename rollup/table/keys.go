package table

import (
	"encoding/binary"
	"fmt"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Keys of the table. Numbers are big-endian, so that keys sort as the numbers do; text ends in 0 1, and a 0 in it is written 0 255.
//
//	'v'                                                           schema
//	't' topic                                                     id of the topic that the table was filled from
//	'p' unit partition(4)                                         position and progress of a partition
//	'c' unit site(4) generation(4) report link start(8) partition(4) shard(2)   rows of a cell: bucket.AppendRows
//	'g' unit partition(4) site(4)                                 generation of a site's cells, and up to where it is folded
//	'd' partition(4) ...                                          what tally knows about identities: see identities.go
//
// schema grows with every change of a key or of a value, also of one that another package writes, such as bucket.AppendRows: a table of
// another schema is made again from the log.
const schema = 3

func partKey(unit zone.Unit, partition int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{'p', byte(unit)}, uint32(partition))
}

func generationKey(unit zone.Unit, partition int32, site uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{'g', byte(unit)}, uint32(partition)), site)
}

// reportPrefix is what the keys of all cells of a report of a site, or of one of its links, begin with.
func reportPrefix(dst []byte, unit zone.Unit, site, generation uint32, report, link string) []byte {
	dst = sitePrefix(dst, unit, site, generation)
	dst = appendText(dst, report)
	return appendText(dst, link)
}

func sitePrefix(dst []byte, unit zone.Unit, site, generation uint32) []byte {
	dst = append(dst, 'c', byte(unit))
	dst = binary.BigEndian.AppendUint32(dst, site)
	return binary.BigEndian.AppendUint32(dst, generation)
}

func appendStart(dst []byte, start int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(start)^1<<63)
}

// cellPrefix is what the keys of the shards of a cell begin with.
func cellPrefix(dst []byte, unit zone.Unit, id *bucket.ID) []byte {
	dst = reportPrefix(dst, unit, id.SiteID, id.Generation, id.Report, id.Link)
	dst = appendStart(dst, id.Start)
	return binary.BigEndian.AppendUint32(dst, uint32(id.Partition))
}

func cellKey(dst []byte, unit zone.Unit, id *bucket.ID) []byte {
	return binary.BigEndian.AppendUint16(cellPrefix(dst, unit, id), uint16(id.Shard))
}

// tailBytes is the length of start, partition and shard at the end of the key of a cell.
const tailBytes = 8 + 4 + 2

// parseTail reads the end of the key of a cell.
func parseTail(key []byte) (start int64, partition int32, shard int, err error) {
	if len(key) < tailBytes {
		return 0, 0, 0, fmt.Errorf("%w: key %x", ErrDamaged, key)
	}
	tail := key[len(key)-tailBytes:]
	start = int64(binary.BigEndian.Uint64(tail) ^ 1<<63)
	return start, int32(binary.BigEndian.Uint32(tail[8:])), int(binary.BigEndian.Uint16(tail[12:])), nil
}

// parseKey reads the whole key of a cell. Offset stays 0.
func parseKey(key []byte) (bucket.ID, error) {
	const head = 1 + 1 + 4 + 4
	if len(key) < head+tailBytes || key[0] != 'c' {
		return bucket.ID{}, fmt.Errorf("%w: key %x", ErrDamaged, key)
	}
	id := bucket.ID{Window: zone.Unit(key[1]).String(), SiteID: binary.BigEndian.Uint32(key[2:]), Generation: binary.BigEndian.Uint32(key[6:])}
	rest, ok := key[head:], false
	if id.Report, rest, ok = cutText(rest); ok {
		id.Link, rest, ok = cutText(rest)
	}
	if !ok || len(rest) != tailBytes {
		return bucket.ID{}, fmt.Errorf("%w: key %x", ErrDamaged, key)
	}
	var err error
	id.Start, id.Partition, id.Shard, err = parseTail(rest)
	return id, err
}

// cutText reads what appendText wrote.
func cutText(b []byte) (text string, rest []byte, ok bool) {
	var out []byte
	for i := 0; i+1 < len(b); i++ {
		if b[i] != 0 {
			out = append(out, b[i])
			continue
		}
		if b[i+1] == 1 {
			return string(out), b[i+2:], true
		}
		out = append(out, 0)
		i++
	}
	return "", nil, false
}

func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] == 0 {
			dst = append(dst, 0, 255)
		} else {
			dst = append(dst, s[i])
		}
	}
	return append(dst, 0, 1)
}

// upTo returns the first key behind all keys with a prefix.
func upTo(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
