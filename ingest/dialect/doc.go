// Package dialect reads the shapes in which trackers, servers and short-link services send hits: one file per shape.
//
// A dialect turns bytes into a struct of its own with the limits and defaults of the sender's own server, and knows nothing of sites,
// visitors or HTTP. Text in the results may be a view into the input; it is valid as long as the input is.
//
// Bodies are bounded by the caller before they come here. Start reading at plausible.go.
package dialect
