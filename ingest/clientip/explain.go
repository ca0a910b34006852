package clientip

import (
	"net/http"
	"net/netip"
	"strings"
)

// Step is what was made of one address, or of what stood where one belongs.
type Step struct {
	Header string `json:"header"` // that it stands in; "" is the connection
	Text   string `json:"text"`   // as it came
	What   What   `json:"what"`
}

// What says what an address in a request was taken for.
type What string

// What steps can be.
const (
	Visitor    What = "visitor"
	Proxy      What = "proxy"      // trusted, so the next one counts
	Unreadable What = "unreadable" // no address, so what stands left of it is not believed
	Beyond     What = "beyond"     // further from here than the visitor: anybody may have written it
	NotAsked   What = "not-asked"  // another header has told the visitor already, or whoever sends it is not trusted
)

// Explain says step by step how Resolve finds the visitor: the connection first, then each header that speaks of addresses, the entries of each
// from the right, as they are read.
func (r *Resolver) Explain(req *http.Request) []Step {
	client := r.Resolve(req)
	peer := Step{Text: req.RemoteAddr, What: Proxy}
	if client.From == "" {
		peer.What = Visitor
	}
	if !client.Peer.IsValid() {
		peer.What = Unreadable
	}
	steps := []Step{peer}
	asked := client.From != ""
	for _, header := range r.Headers() {
		values := req.Header[header]
		if len(values) == 0 {
			continue
		}
		parse, list := Parse, false
		switch header {
		case "X-Forwarded-For":
			list = true
		case "Forwarded":
			parse, list = parseForwarded, true
		}
		if !list || header == r.header {
			steps = append(steps, Step{header, values[0], whatOfOne(values[0], asked)})
		} else {
			steps = r.explainList(steps, header, values, parse, asked)
		}
		asked = asked && header != client.From
	}
	return steps
}

// Headers returns the names of all headers that are looked at, as net/http writes them, in the order in which they are.
func (r *Resolver) Headers() []string {
	var names []string
	if r.header != "" {
		names = append(names, r.header)
	}
	for _, name := range append([]string{"X-Forwarded-For", "Forwarded"}, plainHeaders...) {
		if name != r.header {
			names = append(names, name)
		}
	}
	return names
}

func whatOfOne(text string, asked bool) What {
	if !asked {
		return NotAsked
	}
	if _, ok := Parse(text); !ok {
		return Unreadable
	}
	return Visitor
}

func (r *Resolver) explainList(steps []Step, header string, values []string, parse func(string) (netip.Addr, bool), asked bool) []Step {
	hop, over, furthest := 0, false, -1
	for entry := range fromRight(values) {
		if hop++; hop > maxHops {
			break
		}
		step := Step{header, strings.TrimSpace(entry), NotAsked}
		addr, ok := parse(entry)
		switch {
		case !asked:
		case over:
			step.What = Beyond
		case !ok:
			step.What, over = Unreadable, true
		case !r.trusts(addr, hop):
			step.What, over, furthest = Visitor, true, -1
		default:
			step.What, furthest = Proxy, len(steps)
		}
		steps = append(steps, step)
	}
	if furthest >= 0 { // all that can be read are proxies
		steps[furthest].What = Visitor
	}
	return steps
}
