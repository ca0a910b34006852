// Package hit is the record that ingest writes to the topic "events" and that everyone else reads: one page view, event, short-link
// click or log line.
//
// The value of the record is a protobuf message; Schema returns its definition, and docs/formats/hit.md describes it. The codec is
// written by hand on protowire: Append adds to the caller's slice and allocates nothing for a hit without maps; Parse makes one
// allocation per record, Borrow none.
//
// A hit holds no address. The address of the visitor is turned into Visitor, Country, Region and City before a Hit is made.
//
// Readers skip fields they do not know and accept any version from 1 up. A field number is never used again with another meaning.
// A record without a version or without a site is not a hit; Parse says so with ErrNotHit.
//
// Start reading at hit.go; append.go and parse.go are the two halves of the codec and list the fields in the same order.
package hit
