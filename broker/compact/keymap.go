package compact

import (
	"crypto/sha256"
	"encoding/binary"
)

// keyHash stands for a key: 128 bits of its SHA-256, so that nobody finds two
// keys that are taken for one.
type keyHash [16]byte

func hashOf(key []byte) keyHash {
	sum := sha256.Sum256(key)
	return keyHash(sum[:16])
}

// keyMap is the newest offset of each key: a table with open addressing of 24
// bytes a place, at most three quarters full.
type keyMap struct {
	places []place
	n      int
}

type place struct {
	key  keyHash
	next int64 // offset plus one; 0: free
}

const placeBytes = 24

// newKeyMap makes a map of at most so many bytes, and not less than a few keys.
func newKeyMap(bytes int64) *keyMap {
	return &keyMap{places: make([]place, max(bytes/placeBytes, 64))}
}

func (m *keyMap) full() bool { return m.n >= len(m.places)/4*3 }

// put notes a record; offsets grow from call to call. The map must not be full.
func (m *keyMap) put(key keyHash, offset int64) {
	p := m.find(key)
	if p.next == 0 {
		p.key = key
		m.n++
	}
	p.next = offset + 1
}

// newest returns the newest offset of a key, -1 when it is not in the map.
func (m *keyMap) newest(key keyHash) int64 { return m.find(key).next - 1 }

func (m *keyMap) find(key keyHash) *place {
	size := uint64(len(m.places))
	for i := binary.BigEndian.Uint64(key[:]) % size; ; i = (i + 1) % size {
		if p := &m.places[i]; p.next == 0 || p.key == key {
			return p
		}
	}
}

// grow doubles the map.
func (m *keyMap) grow() {
	old := m.places
	m.places, m.n = make([]place, 2*len(old)), 0
	for _, p := range old {
		if p.next != 0 {
			m.put(p.key, p.next-1)
		}
	}
}
