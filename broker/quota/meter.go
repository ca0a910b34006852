package quota

import (
	"sync"
	"time"
)

const (
	samples     = 30 // of one second
	window      = samples * time.Second
	maxMeasured = 10_000 // windows, 3 MiB; a guess
	// longest bounds how long somebody is left alone: a limit that was mistyped keeps nobody away for days.
	longest = 10 * time.Minute
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
	limit  float64 // that it was counted under
	last   int64   // the second of the newest sample
	sample [samples]float64
	sum    float64
	debt   float64 // what a window cannot hold; it comes in as samples leave, at the rate of the limit
}

// NewMeter returns a meter that has seen nothing.
func NewMeter() *Meter { return &Meter{used: make(map[measured]*usage)} }

// Client is who uses something.
type Client struct{ User, ID string }

// Add counts n for a client and returns how long it is to be left alone; 0 without a limit and within it. n of 0 only asks.
func (m *Meter) Add(now time.Time, r *Rules, key string, c Client, n float64) time.Duration {
	limit, shared, ok := r.find(key, c)
	if !ok {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.usage(now, limit, measured{key, shared})
	u.add(now, limit, n)
	return u.over(now, limit)
}

// Take counts n unless that is more than the limit allows now: then it counts nothing and returns how long the client is to be left alone.
// What no window could ever hold is counted while nothing else is in the window, so that everybody gets on.
func (m *Meter) Take(now time.Time, r *Rules, key string, c Client, n float64) time.Duration {
	limit, shared, ok := r.find(key, c)
	if !ok {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.usage(now, limit, measured{key, shared})
	before := *u
	u.add(now, limit, n)
	wait := u.over(now, limit)
	if wait == 0 || before.sum == 0 {
		return 0
	}
	*u = before
	return wait
}

// Left returns how much a client may take now, at most most.
func (m *Meter) Left(now time.Time, r *Rules, key string, c Client, most float64) float64 {
	limit, shared, ok := r.find(key, c)
	if !ok {
		return most
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.usage(now, limit, measured{key, shared})
	return max(0, min(most, limit*elapsed(now).Seconds()-u.sum-u.debt))
}

// usage finds what was used, up to now. The caller holds mu.
func (m *Meter) usage(now time.Time, limit float64, at measured) *usage {
	u := m.used[at]
	if u == nil {
		m.makeRoom(now)
		u = &usage{}
		m.used[at] = u
	}
	if u.limit != limit { // what was right under another limit is not held against anybody
		*u = usage{limit: limit, last: now.Unix()}
	}
	u.advance(now.Unix(), limit)
	return u
}

// elapsed is how much of the window is over: all of its seconds but the one that runs.
func elapsed(now time.Time) time.Duration {
	return window - time.Second + time.Duration(now.Nanosecond())
}

// add counts n. What a window cannot hold is owed; the window is full then, each second with what the limit grants it, so that it empties
// at that rate.
func (u *usage) add(now time.Time, limit, n float64) {
	u.sample[now.Unix()%samples] += n
	u.sum += n
	full := limit * window.Seconds()
	if u.sum <= full {
		return
	}
	u.debt += u.sum - full
	u.sum = full
	for i := range u.sample {
		u.sample[i] = limit
	}
}

// over is how long it takes until the rate is within the limit.
func (u *usage) over(now time.Time, limit float64) time.Duration {
	seconds := (u.sum+u.debt)/limit - elapsed(now).Seconds()
	return time.Duration(min(max(seconds, 0), longest.Seconds()) * float64(time.Second))
}

// advance drops the samples that have left the window and takes in what is owed.
func (u *usage) advance(second int64, limit float64) {
	if gap := second - u.last - samples; gap > 0 {
		u.sample, u.sum, u.last = [samples]float64{}, 0, second-samples
		u.debt = max(0, u.debt-float64(gap)*limit)
	}
	for u.last < second {
		u.last++
		i := u.last % samples
		paid := min(u.debt, limit)
		u.debt -= paid
		u.sum += paid - u.sample[i]
		u.sample[i] = paid
	}
	if u.sum < 1e-6 { // the rest of sums and differences
		u.sum = 0
	}
}

// makeRoom drops what is no longer in a window when there is much, and everything when that is not enough.
func (m *Meter) makeRoom(now time.Time) {
	if len(m.used) < maxMeasured {
		return
	}
	for at, u := range m.used {
		if u.debt == 0 && now.Unix()-u.last >= samples {
			delete(m.used, at)
		}
	}
	if len(m.used) >= maxMeasured {
		clear(m.used)
	}
}
