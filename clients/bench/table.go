package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

// rate is one measurement.
type rate struct {
	perSecond float64       // records
	cpu       time.Duration // of the server, a record
	took      time.Duration
}

// result is one round with one peer and one size.
type result struct {
	produce, consume rate
	fetchBytes       float64 // a second, not unpacked; 0: not measured
}

func (r result) String() string {
	return fmt.Sprintf("produce %.0f/s (%v), consume %.0f/s (%v), fetch %.0f MB/s",
		r.produce.perSecond, r.produce.cpu, r.consume.perSecond, r.consume.cpu, r.fetchBytes/1e6)
}

// column is what is shown of the rounds with one peer and one size.
type column struct {
	peer string
	size int
}

// table collects results.
type table struct{ rows map[column][]result }

func (t *table) add(peer string, size int, r result) {
	if t.rows == nil {
		t.rows = make(map[column][]result)
	}
	k := column{peer, size}
	t.rows[k] = append(t.rows[k], r)
}

// median of one figure over the rounds, and its smallest and largest.
func (t *table) median(peer string, size int, of func(result) float64) (m, low, high float64) {
	var all []float64
	for _, r := range t.rows[column{peer, size}] {
		all = append(all, of(r))
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[0], all[len(all)-1]
}

// times is the median over the rounds of weir's figure as a multiple of the peer's in the same round, which met the same neighbours.
func (t *table) times(peer string, size int, of func(result) float64) float64 {
	ours, theirs := t.rows[column{"weir", size}], t.rows[column{peer, size}]
	var all []float64
	for i := range min(len(ours), len(theirs)) {
		all = append(all, of(ours[i])/of(theirs[i]))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// fsync says when each peer syncs.
var fsync = map[string]string{
	"weir": "before each answer", "kfake": "none, in memory", "kafka": "none (default)",
	"nats": "every 2 min (default)", "nats-always": "each message (sync_interval: always)",
}

var figures = []struct {
	name string
	unit float64
	of   func(result) float64
}{
	{"produce, k records/s", 1e3, func(r result) float64 { return r.produce.perSecond }},
	{"consume, k records/s", 1e3, func(r result) float64 { return r.consume.perSecond }},
	{"fetch, MB/s", 1e6, func(r result) float64 { return r.fetchBytes }},
}

// print writes one Markdown table for each size: medians with their range, and weir as a multiple of each peer in the same round.
func (t *table) print(w io.Writer, peers []string) {
	for _, size := range sizes {
		fmt.Fprintf(w, "\n%d bytes\n\n| | fsync |", size)
		for _, f := range figures {
			fmt.Fprintf(w, " %s | weir is |", f.name)
		}
		fmt.Fprintf(w, " server CPU µs/record, in and out |\n|---|---|%s---|\n", string(bytes.Repeat([]byte("---|"), 2*len(figures))))
		for _, p := range peers {
			fmt.Fprintf(w, "| %s | %s |", p, fsync[p])
			for _, f := range figures {
				m, low, high := t.median(p, size, f.of)
				if m == 0 {
					fmt.Fprint(w, " | |")
					continue
				}
				times := ""
				if p != "weir" {
					times = fmt.Sprintf("%.2f ×", t.times(p, size, f.of))
				}
				fmt.Fprintf(w, " %.4g (%.4g-%.4g) | %s |", m/f.unit, low/f.unit, high/f.unit, times)
			}
			in, _, _ := t.median(p, size, func(r result) float64 { return float64(r.produce.cpu) / 1e3 })
			out, _, _ := t.median(p, size, func(r result) float64 { return float64(r.consume.cpu) / 1e3 })
			fmt.Fprintf(w, " %.2f, %.2f |\n", in, out)
		}
	}
}

// cpuTime is what a process has used of the cores; 0 when it can't be read. Its clock ticks a hundred times a second.
func cpuTime(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond
}
