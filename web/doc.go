// Package web is the HTTP side of a node: the API, the live streams, the dashboard's files, health and metrics. The routes that collect hits
// are here too, but what answers them is a plain http.Handler from room ingest.
//
// One handler serves two listeners: TCP, where callers log in or send a token, and the admin socket in the data directory, where whoever
// may open the file is the administrator.
//
// What must hold:
//   - Every route and what it asks of its caller is in routes.go.
//   - Nothing that comes from outside is unbounded: headers, bodies, connections, streams, time to send a request or read an answer.
//   - No answer of the dashboard runs inline code; nothing is loaded from another host.
//   - At the stop, streams end at once, requests under way get time to finish, and the socket file is gone.
//
// Start reading at routes.go, then server.go. Package auth says who callers are, stats answers about counts, admin changes things, live
// streams, reply writes answers and errors.
package web
