// Package quota says for how long a Kafka client is to be left alone because it has sent or asked for too much. It is pure: time is an
// argument.
//
// A limit is a rate over a window of 30 samples of one second. What goes over it is divided by the limit: that is how long it takes
// until the rate is within it again. What is more than a whole window may hold is owed, and fills the window for as long as it takes. As in Kafka the most exact limit counts: that of user and client id together, then
// of the user, then of the client id, in each of these the name itself before the default; and clients share a window exactly when they
// share the name that the limit was found by, or are one by one what a default speaks of.
//
// Stopwatch measures the processor time that a request takes, for limits of time.
//
// Start reading at Meter.Add.
package quota
