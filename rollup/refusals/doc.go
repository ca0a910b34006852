// Package refusals adds up why hits were not taken, by site and time, from the records of the topic that ingest writes them to.
//
// A record says how many hits of one site were refused in one minute for one reason, at one source, so far: the last record of a key counts,
// and sources are added up. The ledger keeps what each key said last while its minute may still grow, and adds the difference.
//
// What must hold:
//   - A record that comes again changes nothing.
//   - Memory is bounded, however much is refused: minutes become quarters of an hour, then hours, and when there is too much, the oldest are
//     given up. Since says from when on the sums are whole.
//   - Ranges that begin at a minute of the last three hours, or at a quarter of an hour of the last 32 days (all days and hours of all zones
//     do), are summed exactly.
//
// Start reading at ledger.go.
package refusals
