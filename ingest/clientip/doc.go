// Package clientip finds the address of the visitor behind a request.
//
// A header can be written by anyone, so a header counts only when the peer that sent the request is a trusted proxy. Of X-Forwarded-For
// and Forwarded the list is walked from the right, past trusted proxies, to the first entry that is not one: a proxy appends, so what the
// visitor wrote himself stands further left and is never reached. Addresses are returned without zone, port and brackets, and
// IPv4-mapped IPv6 addresses as IPv4, so that one visitor has one address.
//
// Trusted is who is named by address, or stands near enough: of a chain of N proxies whose addresses change, the N hops next to this server.
//
// The package keeps no address. Start reading at Resolver.Resolve.
package clientip
