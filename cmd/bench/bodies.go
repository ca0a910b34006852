package bench

import (
	"bytes"
	"fmt"
	"time"

	"github.com/weir-analytics/weir/cmd/demo"
)

// request is one HTTP/1.1 request with a body.
func request(path, contentType, agent, address string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: weir\r\nContent-Type: %s\r\nContent-Length: %d\r\n", path, contentType, len(body))
	if agent != "" {
		fmt.Fprintf(&b, "User-Agent: %s\r\n", agent)
	}
	if address != "" {
		fmt.Fprintf(&b, "X-Forwarded-For: %s\r\n", address)
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// Singles builds n requests with one page view each, with the bodies, agents and addresses of made-up visitors.
func Singles(path, site string, n int) [][]byte {
	hits := made(n)
	requests := make([][]byte, n)
	for i, h := range hits {
		body := fmt.Appendf(nil, `{"n":"pageview","u":"https://%s%s?page=%d","d":"%s","r":%q}`, site, h.Page, i, site, h.Referrer)
		requests[i] = request(path, "text/plain", h.Agent, h.Address, body)
	}
	return requests
}

// Batches builds n requests with perRequest clicks each, of about 220 bytes. Ids differ, so that none is taken for a repeat; a batch that is
// sent again is one, and is dropped when counting: the work up to there is the same.
func Batches(path, site string, n, perRequest int, now time.Time) [][]byte {
	requests := make([][]byte, n)
	for i := range requests {
		var body []byte
		for j, h := range made(perRequest) {
			at := now.Add(-time.Duration(j) * time.Millisecond)
			body = fmt.Appendf(body, `{"ts":"%s","link":"spring-%d","site":"%s","dest":"https://%s/%d","ip":"%s","ua":"%s"}`+"\n",
				at.UTC().Format(time.RFC3339Nano), (i+j)%50, site, site, i, h.Address, h.Agent)
		}
		requests[i] = request(path, "application/x-ndjson", "", "", body)
	}
	return requests
}

// made returns n made-up hits of different visitors.
func made(n int) []demo.Hit {
	traffic := demo.New(uint64(n))
	site := demo.Sites()[0]
	from := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	var hits []demo.Hit
	for scale := 1.0; len(hits) < n; scale *= 2 {
		hits = traffic.Between(site, from, from.AddDate(0, 0, 1), scale)
	}
	return hits[:n]
}
