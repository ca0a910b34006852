package visitor

import (
	"encoding/binary"
	"net/netip"

	"github.com/cespare/xxhash/v2"
	"github.com/dchest/siphash"
)

// Who is one visitor as far as a request tells: address, agent, or the name of the client in logs that hold names in place of
// addresses.
type Who struct {
	Addr  netip.Addr // invalid when not known
	Name  string     // of a client whose address is not known
	Agent uint64     // AgentSum of the agent; 0 when there is none
}

// AgentSum digests an agent string, so that callers can keep the digest beside what they know of an agent. It is never 0.
func AgentSum(agent string) uint64 {
	if sum := xxhash.Sum64String(agent); sum != 0 {
		return sum
	}
	return 1
}

// Known reports whether there is anything to tell this visitor from others by.
func (w Who) Known() bool { return w.Addr.IsValid() || w.Name != "" || w.Agent != 0 }

// append writes the visitor in a form in which no two differing visitors are equal.
func (w Who) append(dst []byte, site uint32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, site)
	dst = binary.LittleEndian.AppendUint64(dst, w.Agent)
	if w.Addr.IsValid() {
		addr := w.Addr.As16()
		return append(dst, addr[:]...)
	}
	return append(dst, w.Name...)
}

// Key is a secret for the hashes here.
type Key [16]byte

func (k *Key) sum(data []byte) uint64 {
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), data)
}

// Partition returns the partition for the hits of a visitor of a site. The key never changes, so that a visitor's hits stay in one
// partition across changes of salts; only the partition's number leaves this function. partitions must be positive.
func Partition(key Key, site uint32, who Who, partitions int32) int32 {
	var buf [64]byte
	return int32(key.sum(who.append(buf[:0], site)) % uint64(partitions))
}

// id is never 0: 0 says that there is no visitor.
func id(salt Key, site uint32, who Who) uint64 {
	var buf [64]byte
	if sum := salt.sum(who.append(buf[:0], site)); sum != 0 {
		return sum
	}
	return 1
}
