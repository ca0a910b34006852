// Package pageurl takes addresses of pages, links and referrers apart and cleans them.
//
// Rules, the same for every source of hits:
//   - A path is percent-decoded once, so that /caf%C3%A9, /caf%c3%a9 and /café are one page and /caf%25C3%25A9 is another. A final slash
//     and doubled slashes are kept: servers may answer differently.
//   - The query is kept apart and as sent.
//   - Hosts are lower case, without port, without a final dot; those beyond ASCII have one form, see internal/idn.
//   - E-mail addresses, values of parameters that hold secrets, and what looks like a secret or the id of one click are replaced, in paths,
//     queries and fragments.
//   - What is too long is cut at a character border, and the hit is kept.
//   - Nothing is refused: an address that makes no sense becomes the text it is.
//
// All functions are pure. Start reading at Parse.
package pageurl
