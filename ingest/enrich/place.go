package enrich

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"
)

// Place is where an address is. Empty fields are not known.
type Place struct {
	Country    string // ISO 3166-1 alpha-2
	Region     string
	RegionCode string // ISO 3166-2, such as GB-ENG
	City       string
	ASN        uint32 // autonomous system
	ASName     string // whose it is
}

// maxPlaces bounds the places that are remembered of one database: all countries, and the cities that most visitors are in.
const maxPlaces = 1 << 16

// database is one open file. Safe for concurrent use.
type database struct {
	reader *maxminddb.Reader

	flattened bool                 // an attempt to build flat was made; only Places.Run reads and sets it
	flat      atomic.Pointer[flat] // of the IPv4 addresses; nil until it is built, or when it is not worth it

	mu     sync.RWMutex
	places map[uintptr]Place // by offset of the record; decoding is the larger part of a look-up
}

// openDatabase checks that data is a database of a kind. The data must not change afterwards.
func openDatabase(data []byte, kind kind) (db *database, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("the file is damaged: %v", r)
		}
	}()
	reader, err := maxminddb.OpenBytes(data)
	if err != nil {
		return nil, fmt.Errorf("not a usable MaxMind DB file: %w", err)
	}
	db = &database{reader: reader, places: map[uintptr]Place{}}
	found, err := db.probe(kind.has)
	if err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("the database (type %q) has no %s", reader.Metadata.DatabaseType, kind.needs)
	}
	return db, nil
}

// probe looks at the networks of the database in order until one has what the database is for. It steps by look-ups, each of which is bounded, and not
// by walking the search tree: that of a damaged file may have cycles.
func (db *database) probe(has func(*Place) bool) (found bool, err error) {
	const enough = 50_000 // networks, with or without data; some files begin with thousands that have no country
	addr := netip.IPv6Unspecified()
	if db.reader.Metadata.IPVersion == 4 {
		addr = netip.IPv4Unspecified()
	}
	for range enough {
		result := db.reader.Lookup(addr)
		if err := result.Err(); err != nil {
			return false, err
		}
		if result.Found() {
			place, err := decodePlace(result)
			if err != nil {
				return false, err
			}
			if has(&place) {
				return true, nil
			}
		}
		next, ok := after(addr, result.Prefix())
		if !ok {
			return false, nil
		}
		addr = next
	}
	return false, nil
}

// after returns the first address behind the network of addr, false at the end of the address space. Networks of IPv4 within an IPv6
// database are told as IPv4, so the step is taken in the form of the address that was asked for.
func after(addr netip.Addr, network netip.Prefix) (netip.Addr, bool) {
	bytes := addr.AsSlice()
	host := network.Addr().BitLen() - network.Bits() // bits to the right of the network
	for i := len(bytes) - 1; i >= 0 && host > 0; i, host = i-1, host-8 {
		if host >= 8 {
			bytes[i] = 0xff
		} else {
			bytes[i] |= 1<<host - 1
		}
	}
	last, _ := netip.AddrFromSlice(bytes)
	next := last.Next()
	return next, next.IsValid()
}

// findFast returns the place of an address from the fastest table there is.
func (db *database) findFast(addr netip.Addr) Place {
	if addr.Is4() {
		if f := db.flat.Load(); f != nil {
			return f.find(addr)
		}
	}
	return db.find(addr)
}

// flatten builds the table of IPv4 addresses.
func (db *database) flatten() {
	defer func() { _ = recover() }() // a damaged file keeps to its search tree
	if f := buildFlat(db); f != nil {
		db.flat.Store(f)
	}
}

// find looks an address up in the search tree; an address that is not in the database, or whose record is damaged, has none.
func (db *database) find(addr netip.Addr) (place Place) {
	defer func() {
		if recover() != nil {
			place = Place{}
		}
	}()
	result := db.reader.Lookup(addr)
	if result.Err() != nil || !result.Found() {
		return Place{}
	}
	offset := result.Offset()
	db.mu.RLock()
	place, ok := db.places[offset]
	db.mu.RUnlock()
	if ok {
		return place
	}
	place, err := decodePlace(result)
	if err != nil {
		return Place{}
	}
	db.mu.Lock()
	if len(db.places) >= maxPlaces {
		clear(db.places)
	}
	db.places[offset] = place
	db.mu.Unlock()
	return place
}
