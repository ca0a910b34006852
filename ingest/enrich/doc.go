// Package enrich adds to a hit what follows from the visitor's address and agent: country, region and city; browser, system and kind of
// device.
//
// Places come from a MaxMind DB file: the one built into the binary, or any file given, of MaxMind's schema or of the flat one
// (country_code) that free databases use. A file that is missing, damaged or of another kind never costs a hit: the place is unknown,
// the reason is in Status, and a file that appears or changes later is picked up by Run. Files are read into memory and never mapped, so
// that overwriting one in place cannot crash the process.
//
// Agents are read by rules of our own (rules_*.go), one pass over an ordered table, about a microsecond: slow regular-expression
// parsers would let a client with ever new agents use up the processor. Results are kept in a cache of bounded size.
//
// Start reading at Places and at Agents.
package enrich
