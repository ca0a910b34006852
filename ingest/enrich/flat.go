package enrich

import (
	"encoding/binary"
	"net/netip"
)

// flat is the IPv4 half of a database as a sorted list of ranges: one look-up takes a step into an index of 64 Ki places by the upper half
// of the address, and a binary search among the few ranges there. The search tree of the file takes 24 and more steps through memory
// that is not in the cache. It does not change once built.
type flat struct {
	index  [1<<16 + 1]uint32 // for the upper 16 bits of an address, the first range that ends at or above them
	last   []uint32          // last address of each range, ascending
	place  []uint16          // per range, index into places
	places []Place
}

// maxRanges bounds the memory of a flat table to 6 MiB. Country databases have 300,000 to 700,000 ranges; city databases have millions and keep
// to their search tree.
const maxRanges = 1 << 20

// buildFlat makes the table, or returns nil when the database has too many ranges or places, or cannot be read. It takes some tenths of a
// second.
func buildFlat(db *database) *flat {
	f := &flat{places: []Place{{}}}
	ids := map[Place]uint16{{}: 0}
	addr := netip.IPv4Unspecified()
	for {
		result := db.reader.Lookup(addr)
		if result.Err() != nil {
			return nil
		}
		place := db.find(addr)
		id, ok := ids[place]
		if !ok {
			if len(f.places) >= 1<<16 {
				return nil
			}
			id = uint16(len(f.places))
			ids[place] = id
			f.places = append(f.places, place)
		}
		next, more := after(addr, result.Prefix())
		end := ^uint32(0)
		if more {
			end = number4(next) - 1
		}
		f.add(end, id)
		if !more {
			f.finish()
			return f
		}
		if len(f.last) > maxRanges {
			return nil
		}
		addr = next
	}
}

// add appends a range, or widens the one before it when both are the same place.
func (f *flat) add(end uint32, id uint16) {
	if n := len(f.last); n > 0 && f.place[n-1] == id {
		f.last[n-1] = end
		return
	}
	f.last = append(f.last, end)
	f.place = append(f.place, id)
}

func (f *flat) finish() {
	i := uint32(0)
	for upper := range uint32(1 << 16) {
		for f.last[i] < upper<<16 {
			i++
		}
		f.index[upper] = i
	}
	f.index[1<<16] = uint32(len(f.last) - 1)
}

// find returns the place of an IPv4 address.
func (f *flat) find(addr netip.Addr) Place {
	n := number4(addr)
	low, high := f.index[n>>16], f.index[n>>16+1]
	for low < high { // the first range that ends at or above n
		if middle := (low + high) / 2; f.last[middle] < n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return f.places[f.place[low]]
}

func number4(addr netip.Addr) uint32 {
	b := addr.As4()
	return binary.BigEndian.Uint32(b[:])
}
