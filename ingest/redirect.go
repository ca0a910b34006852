package ingest

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// pathLink is the beginning of the addresses of short links: the slug follows.
const pathLink = "/l/"

// serveLink answers a short link. Whoever follows it is led on whatever becomes of the click: a busy or failing log, a limit on rates or a stop of
// the node only cost the count, and each click that is not counted is counted as lost.
func (i *Ingest) serveLink(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"] = noSniff
	h["Cache-Control"] = noStore // each click comes here, also with 301
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		writeText(w, http.StatusMethodNotAllowed, "A short link is followed with GET.\n")
		return
	}
	if !i.started() {
		h.Set("Retry-After", "1")
		writeText(w, http.StatusServiceUnavailable, "The links are not read yet. Try again.\n")
		return
	}
	now := i.cfg.Now()
	host := pageurl.Host(r.Host)
	slug, rest := splitLink(r.URL.EscapedPath())
	link, ok := i.cfg.Sites.State().FindLink(host, slug)
	if !ok || !link.ExpiresAt.IsZero() && !now.Before(link.ExpiresAt) || rest != "" && !link.PassPath {
		// One answer for all that leads nowhere: it does not tell what was there once.
		site, _ := i.cfg.Sites.State().SiteByName(host)
		i.lost(site.ID, reasonUnknownLink, 1)
		h["X-Weir-Dropped"] = []string{string(reasonUnknownLink)}
		writeText(w, http.StatusNotFound, "There is no such link here.\n")
		return
	}
	dest := destinationOf(&link, rest, r.URL.RawQuery)
	h["Location"] = []string{dest}
	if taken := i.takeClick(r, &link, host, dest); taken != nil && i.cfg.LinkWait > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), i.cfg.LinkWait)
		_ = taken.waits.wait(ctx) // what is not written is counted by the queue
		cancel()
	}
	h["Content-Length"] = zeroLength
	w.WriteHeader(link.Status)
}

var zeroLength = []string{"0"}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header()["Content-Type"] = textPlain
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// started reports whether the state of the cluster is known.
func (i *Ingest) started() bool {
	if i.cfg.Started == nil {
		return true
	}
	select {
	case <-i.cfg.Started:
		return true
	default:
		return false
	}
}

// takeClick queues the click and returns without waiting for it. It returns nil when it is not queued; then it is counted as lost.
func (i *Ingest) takeClick(r *http.Request, link *state.Link, host, dest string) *intake {
	client := i.clients.Resolve(r)
	if !client.Direct() && i.limits.waitOf(client.Addr, i.cfg.Now().UnixNano()) > 0 {
		i.lost(link.SiteID, reasonRate, 1)
		return nil
	}
	if over := i.siteLimited(link.SiteID); over != nil {
		i.lost(link.SiteID, reasonRate, 1)
		return nil
	}
	i.proxies.note(client, i.cfg.Log)
	t, err := i.newIntake(sourceRedirect)
	if err == nil {
		err = t.putRedirect(r, client, link, host, dest)
	}
	if err != nil {
		i.lostRefused(&refusal{reason: refusalOf(err).reason, site: link.SiteID})
		return nil
	}
	t.flush()
	return t
}

// putRedirect queues the click of a request.
func (t *intake) putRedirect(r *http.Request, client clientip.Client, link *state.Link, host, dest string) error {
	site, ok := t.state.Sites[link.SiteID]
	if !ok {
		return ErrNotWritten // deleted in this moment
	}
	t.alone = true
	e := dialect.Event{Kind: hit.Click, Referrer: r.Referer(), Link: string(link.Key()), Dest: dest}
	page := pageurl.URL{Host: host, Query: pageurl.Query(r.URL.RawQuery)} // for the campaign that it may name
	return t.putEvent(r, client, &e, page, []state.Site{site})
}

// splitLink takes the path of a short link apart: the slug, decoded, and what follows it, as sent. A slash at the end is nothing.
func splitLink(path string) (slug, rest string) {
	slug, rest, _ = strings.Cut(strings.TrimPrefix(path, pathLink), "/")
	if plain, err := url.PathUnescape(slug); err == nil {
		slug = plain
	}
	return slug, rest
}

// destinationOf returns where a link leads, with what it passes on. Nothing of the request can change the host: what is passed on stands behind the
// path, or is a parameter that the destination does not have.
func destinationOf(link *state.Link, rest, query string) string {
	if rest == "" && (query == "" || !link.PassQuery) {
		return link.Dest
	}
	dest, fragment, hasFragment := strings.Cut(link.Dest, "#")
	path, own, _ := strings.Cut(dest, "?")
	if rest != "" {
		if authority := strings.Index(path, "//") + 2; strings.IndexByte(path[authority:], '/') < 0 {
			path += "/"
		}
		path = strings.TrimSuffix(path, "/")
		for part := range strings.SplitSeq(rest, "/") {
			if plain, err := url.PathUnescape(part); err == nil && plain != "." && plain != ".." {
				path += "/" + safe(part)
			}
		}
	}
	if link.PassQuery {
		own = joinQuery(own, query)
	}
	if own != "" {
		path += "?" + own
	}
	if hasFragment {
		path += "#" + fragment
	}
	if len(path) > maxLocation {
		return link.Dest
	}
	return path
}

// maxLocation bounds an address that something was passed on to, in bytes: servers refuse longer ones.
const maxLocation = 8 << 10

// joinQuery adds those parameters of a request that the destination does not have.
func joinQuery(own, sent string) string {
	has := map[string]bool{}
	for name := range pageurl.Params(own) {
		has[name] = true
	}
	for pair := range strings.SplitSeq(sent, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name == "" || has[pageurl.Decode(name)] {
			continue
		}
		if own != "" {
			own += "&"
		}
		own += safe(pair)
	}
	return own
}

// safe escapes what cannot stand in an address.
func safe(text string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"'<>\\^`{|}#", c) >= 0 {
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}
