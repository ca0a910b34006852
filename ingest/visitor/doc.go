// Package visitor turns address and agent of a visitor into a number that says nothing about them and changes every day.
//
// The id is a keyed hash of site, address and agent under the salt of the site's calendar day. The cluster agrees on salts ahead of
// their day and erases them afterwards; then no id can be traced back, nor joined with one of another day. Days whose salt is not kept
// (imported history) use a salt derived from a secret of the cluster, so that a second import of the same lines gives the same ids.
//
// In the last minutes of a day a hit carries the visitor's id of the next day too, so that a visit over midnight can be told to be one.
//
// Addresses go in and are not kept. Start reading at Days.IDs.
package visitor
