// Package live pushes the counts of the last minutes of a site to browsers, as server-sent events.
//
// A stream sends the document at once, then after each change but at most four times a second, and at least every 15 seconds, which also
// shows proxies and browsers that it is alive. Changes that come faster are joined, so a slow reader costs one connection and no memory.
// The number of streams is bounded. A stream ends when the client leaves, the node stops, the site is deleted, or the caller may no longer
// read. Start reading at live.go.
package live
