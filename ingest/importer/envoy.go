package importer

import (
	"bytes"

	"github.com/weir-analytics/weir/ingest/dialect"
)

// parseEnvoy reads a line of Envoy's default format, or of what stands behind the first fields of a container's log:
//
//	[2016-04-15T20:17:00.310Z] "GET /path HTTP/2" 204 - received sent duration upstream "forwarded for" "agent" "request id" "authority" "upstream host"
//
// ok is false when it is none.
func (p *Parser) parseEnvoy(line []byte, into *Line) (ok bool, err error) {
	open := bytes.Index(line, []byte("Z] \""))
	start := -1
	if open > 0 {
		start = bytes.LastIndexByte(line[:open], '[')
	}
	if start < 0 || !isInstant(line[start+1:open+1]) {
		return false, nil
	}
	ms, err := dialect.ParseTimeText(line[start+1 : open+1])
	if err != nil {
		return true, bad(BadTime, "%s", quote(line[start:open+2]))
	}
	into.TimeMs = ms
	request, rest, closed := cutRequest(line[open+4:])
	if !closed {
		return true, bad(CutOff, "in the request")
	}
	splitRequest(p.unescape(request), into)
	if rest, closed = parseStatus(rest, into); !closed {
		return true, bad(BadStatus, "%s", quote(rest))
	}
	var fields [4][]byte // forwarded for, agent, request id, authority
	for i := range fields {
		at := bytes.IndexByte(rest, '"')
		if at < 0 {
			break
		}
		if fields[i], rest, closed = cutQuoted(rest[at+1:]); !closed {
			break
		}
	}
	first, _, _ := bytes.Cut(fields[0], []byte(","))
	into.Client = withoutPort(bytes.TrimSpace(usable(first)))
	into.Agent, into.HasAgent = usable(p.unescape(fields[1])), true
	into.Host = usable(fields[3])
	return true, nil
}

// parseZoraxy reads a line of Zoraxy:
//
//	2025/05/01 07:57:03 [2025-05-01 07:57:03.150624] [router:...] [origin:host] [client: address] [useragent: agent] GET /path 404
//
// ok is false when it is none. Its times are of the server's zone, which it does not tell.
func (p *Parser) parseZoraxy(line []byte, into *Line) (ok bool, err error) {
	origin := between(line, "] [origin:", "]")
	client := between(line, "] [client: ", "]")
	end := bytes.LastIndexByte(line, ']')
	if origin == nil || client == nil || end < 0 {
		return false, nil
	}
	stamp := between(line, "[", "]")
	ms, err := dialect.ParseTimeText(stamp)
	if err != nil {
		return true, bad(BadTime, "%s", quote(stamp))
	}
	into.TimeMs, into.Local = ms, true
	into.Host, into.Client = usable(origin), withoutPort(usable(client))
	into.Agent, into.HasAgent = between(line[:end+1], "[useragent: ", "]"), true
	rest := bytes.TrimSpace(line[end+1:])
	last := bytes.LastIndexByte(rest, ' ')
	if last < 0 {
		return true, bad(BadStatus, "%s", quote(rest))
	}
	n, isNumber := number(rest[last+1:])
	if !isNumber || n > 999 {
		return true, bad(BadStatus, "%s", quote(rest))
	}
	into.Status = n
	splitRequest(rest[:last], into)
	return true, nil
}

// between returns what stands between two texts, nil when they are not there.
func between(line []byte, from, to string) []byte {
	start := bytes.Index(line, []byte(from))
	if start < 0 {
		return nil
	}
	line = line[start+len(from):]
	end := bytes.Index(line, []byte(to))
	if end < 0 {
		return nil
	}
	return line[:end]
}
