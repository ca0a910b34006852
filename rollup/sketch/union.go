package sketch

import (
	"encoding/binary"
	"slices"
)

// maxUnionHashes is up to how many hashes a union keeps one by one, with repeats: 512 KiB. Guess, not measured.
const maxUnionHashes = 1 << 16

// Union adds sketches up in their binary form, without building each. It stays exact for as long as its parts are and they are not very
// many. The zero Union is empty and of kind Row. It is not safe for concurrent use.
type Union struct {
	kind   Kind
	hashes []uint64 // may repeat
	regs   registers
}

// Reset empties the union and sets its kind, keeping its memory.
func (u *Union) Reset(kind Kind) { *u = Union{kind: kind, hashes: u.hashes[:0]} }

// Add adds a sketch of the union's kind. Errors wrap ErrCorrupt.
func (u *Union) Add(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if data[0] == formExact {
		check := Sketch{kind: u.kind}
		if err := check.checkExact(data[1:]); err != nil {
			return err
		}
		for hashes := data[1:]; len(hashes) > 0; hashes = hashes[8:] {
			u.hashes = append(u.hashes, binary.LittleEndian.Uint64(hashes))
		}
		if u.regs != nil || len(u.hashes) > maxUnionHashes {
			u.squeeze()
		}
		return nil
	}
	regs, err := parseRegisters(u.kind.precision(), data)
	if err != nil {
		return err
	}
	if u.regs == nil {
		u.regs = regs
		u.squeeze()
	} else {
		u.regs.merge(regs)
	}
	return nil
}

// squeeze brings the hashes down: without repeats, or into the registers.
func (u *Union) squeeze() {
	if u.regs == nil {
		slices.Sort(u.hashes)
		if u.hashes = slices.Compact(u.hashes); len(u.hashes) < maxUnionHashes/2 {
			return
		}
		u.regs = newRegisters(u.kind.precision())
	}
	for _, h := range u.hashes {
		u.regs.insert(h, u.kind.precision())
	}
	u.hashes = u.hashes[:0]
}

// Exact says whether Count is the true number.
func (u *Union) Exact() bool { return u.regs == nil }

// Count returns the number of distinct hashes in all that was added.
func (u *Union) Count() int64 {
	if u.regs != nil {
		return u.regs.ranks().estimate(u.kind.precision())
	}
	slices.Sort(u.hashes)
	u.hashes = slices.Compact(u.hashes)
	return int64(len(u.hashes))
}
