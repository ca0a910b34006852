package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Load is what one measurement found.
type Load struct {
	Requests int
	Events   int // hits: requests times hits per request
	Took     time.Duration
	P50, P99 time.Duration // of one request
}

// PerSecond returns events a second.
func (l Load) PerSecond() float64 { return float64(l.Events) / l.Took.Seconds() }

// Run sends requests to addr over so many connections until the time is up. Each connection sends one request, waits for its answer and
// sends the next. Every answer must have status 202.
func Run(ctx context.Context, addr string, requests [][]byte, perRequest, connections int, d time.Duration) (Load, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	times := make([][]time.Duration, connections)
	errs := make([]error, connections)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range connections {
		wg.Add(1)
		go func() {
			defer wg.Done()
			times[i], errs[i] = drive(ctx, addr, requests, i*len(requests)/connections)
		}()
	}
	wg.Wait()
	load := Load{Took: time.Since(began)}
	all := slices.Concat(times...)
	if err := errors.Join(errs...); err != nil {
		return load, err
	}
	if len(all) == 0 {
		return load, errors.New("no request was answered")
	}
	slices.Sort(all)
	load.Requests, load.Events = len(all), len(all)*perRequest
	load.P50, load.P99 = all[len(all)/2], all[len(all)*99/100]
	return load, nil
}

// drive is one connection.
func drive(ctx context.Context, addr string, requests [][]byte, next int) ([]time.Duration, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 16<<10)
	var times []time.Duration
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := conn.Write(requests[next%len(requests)]); err != nil {
			return times, fmt.Errorf("send: %w", err)
		}
		status, err := readAnswer(in)
		if err != nil {
			return times, fmt.Errorf("read the answer: %w", err)
		}
		if status != 202 {
			return times, fmt.Errorf("answered %d, want 202", status)
		}
		times = append(times, time.Since(began))
		next++
	}
	return times, nil
}

// readAnswer reads one answer that has a Content-Length and returns its status.
func readAnswer(in *bufio.Reader) (status int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("status line %q", line)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return status, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return status, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return status, errors.New("a chunked answer; this reader wants a length")
		}
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return status, err
}
