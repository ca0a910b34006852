package record

import (
	"math/bits"
	"sync"
)

// Buffers of many batches are large and live for a moment: making one means to clear it, and to collect it soon after. With 1-MiB answers
// to Fetch half of a broker's time went there. They are kept in classes of powers of two from 16 KiB to 4 MiB; what is smaller or larger
// is made and collected as anything else.
const (
	smallestBuffer = 14 // log2 of bytes
	largestBuffer  = 22
)

var buffers [largestBuffer - smallestBuffer + 1]sync.Pool // of *[]byte

// Buffer returns n bytes with anything in them. Whoever is the last to use them may give them to Recycle, and need not.
func Buffer(n int) []byte {
	class := max(bits.Len(uint(max(n, 1)-1)), smallestBuffer)
	if n < 1<<smallestBuffer/2 || class > largestBuffer {
		return make([]byte, n)
	}
	if b, ok := buffers[class-smallestBuffer].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, 1<<class)
}

// Recycle gives back what Buffer has returned, or any part of it from its beginning. Nobody may use it afterwards. Other slices are left
// alone.
func Recycle(b []byte) {
	size := cap(b)
	if size&(size-1) != 0 {
		return
	}
	class := bits.Len(uint(size)) - 1
	if class < smallestBuffer || class > largestBuffer {
		return
	}
	b = b[:size]
	buffers[class-smallestBuffer].Put(&b)
}
