package importer

import "bytes"

// parseProxyManager reads what follows the time in a line of Nginx Proxy Manager:
//
//	[time] cache upstream_status status - method scheme host "target" [Client address] [Length n] [Gzip n] [Sent-to server] "agent" "referrer"
//
// upstream_status is missing in lines of dead and default hosts. ok is false when it is none.
func (p *Parser) parseProxyManager(rest []byte, into *Line) (ok bool, err error) {
	client := bytes.Index(rest, []byte(`" [Client `))
	if client < 0 {
		return false, nil
	}
	open := bytes.IndexByte(rest, '"')
	fields := bytes.Fields(rest[:open])
	if open >= client || len(fields) < 4 {
		return false, nil
	}
	into.Target = p.unescape(rest[open+1 : client])
	last := len(fields) - 1
	into.Host, into.Method = usable(fields[last]), usable(fields[last-2])
	if !isMethod(into.Method) {
		into.Method = nil
	}
	for _, field := range fields[:last-2] {
		if n, isNumber := number(field); isNumber && n <= 999 {
			into.Status = n // the last one is what the client got
		}
	}
	after := rest[client+len(`" [Client `):]
	end := bytes.IndexByte(after, ']')
	if end < 0 {
		return true, bad(CutOff, "in the client's address")
	}
	into.Client = usable(after[:end])
	// Agent comes first here, referrer second.
	if err := p.parseQuoted(after[end+1:], into); err != nil {
		return true, err
	}
	into.Referrer, into.Agent = into.Agent, into.Referrer
	return true, nil
}
