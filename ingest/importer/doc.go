// Package importer reads access logs of web servers, proxies and clouds: one file here per family of formats. The format is found line by line, so
// a file may mix them; only W3C logs have a header that says what follows.
//
// Reader takes a stream apart into lines: gzip, bzip2 and zstd are recognised by their first bytes, lines have a longest length, and what
// is longer is stepped over. Parse turns one line into a Line, or says why it cannot: a *Bad with a reason from a fixed list and a detail.
// Nothing a log may hold makes either of them panic or hang; attackers write into logs too.
//
// A line is parsable when it has a client, a time and a status. The request itself may be garbage, as scanners send it; such a line
// is a request without method and target.
//
// Start reading at Parse.
package importer
