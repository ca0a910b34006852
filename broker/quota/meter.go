package quota

import (
	"sync"
	"time"
)

const (
	samples     = 30 // of one second
	window      = samples * time.Second
	maxMeasured = 10_000 // windows, 3 MiB; a guess
)

// Meter remembers what clients have used. Its methods may be called from any goroutine.
type Meter struct {
	mu   sync.Mutex
	used map[measured]*usage
}

// measured is one limit of those who share it.
type measured struct {
	key string
	entity
}

// usage is the samples of one window: the one of second s is at s modulo samples.
type usage struct {
	last   int64 // the second of the newest sample
	sample [samples]float64
	sum    float64
}

// NewMeter returns a meter that has seen nothing.
func NewMeter() *Meter { return &Meter{used: make(map[measured]*usage)} }

// Add counts n for a client and returns how long it is to be left alone; 0 without a limit and within it. n of 0 only asks.
func (m *Meter) Add(now time.Time, r *Rules, key, user, client string, n float64) time.Duration {
	limit, shared, ok := r.find(key, user, client)
	if !ok {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := measured{key, shared}
	u := m.used[at]
	if u == nil {
		if n == 0 {
			return 0
		}
		m.makeRoom(now)
		u = &usage{last: now.Unix()}
		m.used[at] = u
	}
	u.advance(now.Unix())
	u.sample[now.Unix()%samples] += n
	u.sum += n
	// Of the window's seconds all are full but the one that runs.
	length := window - time.Second + time.Duration(now.Nanosecond())
	over := time.Duration(u.sum/limit*float64(time.Second)) - length
	return min(max(over, 0), window)
}

// advance drops the samples that have left the window.
func (u *usage) advance(second int64) {
	if second-u.last >= samples {
		*u = usage{last: second}
		return
	}
	for u.last < second {
		u.last++
		u.sum -= u.sample[u.last%samples]
		u.sample[u.last%samples] = 0
	}
}

// makeRoom drops what is no longer in a window when there is much, and everything when that is not enough.
func (m *Meter) makeRoom(now time.Time) {
	if len(m.used) < maxMeasured {
		return
	}
	for at, u := range m.used {
		if now.Unix()-u.last >= samples {
			delete(m.used, at)
		}
	}
	if len(m.used) >= maxMeasured {
		clear(m.used)
	}
}
