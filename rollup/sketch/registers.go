package sketch

import (
	"math"
	"math/bits"
)

// registers is a dense HyperLogLog: register i holds the highest rank seen among the hashes whose first bits are i.
type registers []uint8

func newRegisters(precision uint8) registers { return make(registers, 1<<precision) }

func maxRank(precision uint8) uint8 { return 64 - precision + 1 }

// insert returns what the register of a hash was and is: the same, or more.
func (r registers) insert(h uint64, precision uint8) (was, is uint8) {
	i := h >> (64 - precision)
	rank := uint8(bits.LeadingZeros64(h<<precision|1<<(precision-1))) + 1
	if was = r[i]; rank <= was {
		return was, was
	}
	r[i] = rank
	return was, rank
}

func (r registers) merge(from registers) {
	for i, rank := range from {
		if rank > r[i] {
			r[i] = rank
		}
	}
}

// ranks says how many registers hold each rank. That is all that an estimate needs.
type ranks [66]uint16

func (r registers) ranks() *ranks {
	var count ranks
	for _, rank := range r {
		count[rank]++
	}
	return &count
}

// estimate is the estimator of Otmar Ertl (New cardinality estimation algorithms for HyperLogLog sketches, 2017): it needs only how many
// registers hold each rank, no tables and no thresholds, and is unbiased over the whole range.
func (count *ranks) estimate(precision uint8) int64 {
	m := float64(int(1) << precision)
	q := int(64 - precision)
	z := m * tau(1-float64(count[q+1])/m)
	for k := q; k >= 1; k-- {
		z = 0.5 * (z + float64(count[k]))
	}
	z += m * sigma(float64(count[0])/m)
	return int64(math.Round(m * m / (2 * math.Ln2 * z)))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += x * y
		y += y
		if z == before {
			return z
		}
	}
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= (1 - x) * (1 - x) * y
		if z == before {
			return z / 3
		}
	}
}
