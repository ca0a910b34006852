// Package wire moves Kafka requests and responses over connections: listener, framing, request headers, order, limits, clean close.
//
// It knows nothing of what a request means. A Handler is given one request at a time per connection, in order of arrival, and
// answers with a Reply. A Reply may leave its result for later (Reply.Wait): the next request is then handed over at once, so that
// pipelined produce requests are appended in order and committed together. Answers always leave in the order of the requests.
//
// Invariants:
//   - a frame's claimed size is not believed: it is checked against a cap, and its buffer and its part of the node-wide memory budget
//     grow only as bytes arrive;
//   - peers that send large requests, or only begin them, keep neither small requests nor in-process connections from being read;
//   - the bytes of a request belong to the handler, wire never uses them again;
//   - a panic while a request is handled or answered closes that connection and nothing else;
//   - Close lets requests that were handed over finish, within Config.DrainFor.
//
// Start reading at Server.Serve and conn.run.
package wire
