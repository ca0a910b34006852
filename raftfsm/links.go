package raftfsm

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// PutLinks adds short links, all or none; with replace those that are there are changed. Destinations are brought into the form that stands
// in a header first. A link without a slug gets one that is not taken.
func (c *Controller) PutLinks(ctx context.Context, links []command.Link, replace bool) ([]state.Link, error) {
	const tries = 5 // of drawing slugs; two in 50,000 links are the same once in a million
	drawn := make([]bool, len(links))
	for i := range links {
		links[i].Dest = asciiAddress(links[i].Dest)
		drawn[i] = links[i].Slug == ""
	}
	for try := 1; ; try++ {
		anyDrawn := false
		for i := range links {
			if drawn[i] {
				links[i].Slug, anyDrawn = drawSlug(), true
			}
		}
		put, err := change[[]state.Link](ctx, c, command.PutLinks{Links: links, Replace: replace && !anyDrawn})
		if !anyDrawn || try == tries || !errors.Is(err, state.ErrExists) {
			return put, err
		}
	}
}

// DeleteLink removes a short link.
func (c *Controller) DeleteLink(ctx context.Context, domain, slug string) error {
	_, err := change[any](ctx, c, command.DeleteLink{Domain: domain, Slug: slug})
	return err
}

// drawSlug draws 7 of 31 characters that nobody takes for another one.
func drawSlug() string {
	const letters = "abcdefghjkmnpqrstuvwxyz23456789"
	slug := make([]byte, 0, 7)
	for len(slug) < cap(slug) {
		var b [1]byte
		rand.Read(b[:])
		if int(b[0]) < 256/len(letters)*len(letters) {
			slug = append(slug, letters[int(b[0])%len(letters)])
		}
	}
	return string(slug)
}

// asciiAddress writes an address with the ASCII form of its host, and escapes what else is not ASCII. What is no address stays as it is, and is
// refused by the state.
func asciiAddress(raw string) string {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil {
		if port := u.Port(); port != "" {
			host = net.JoinHostPort(host, port)
		}
		u.Host = host
	}
	var out strings.Builder
	for _, c := range []byte(u.String()) {
		if c < 0x80 {
			out.WriteByte(c)
			continue
		}
		const hex = "0123456789ABCDEF"
		out.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return out.String()
}
