// Package rollup counts hits: it reads the topic events, keeps the counts of every minute, hour and day of every site, and answers
// questions about them.
//
//	events --> group tally --> rollup.deltas --> groups rollup-minute, -hour, -day --> rollup.minute, .hour, .day --> table --> Query
//
// It reaches the log only as a Kafka client does, so the log may be the broker in this process or another cluster. Nothing in this room
// is durable by itself: what it knows is in the topics, and the table on disk is a copy.
//
// What must hold:
//   - Every hit that is in the log is counted once, whatever dies when (package tally and package fold say how).
//   - Counts of any range are sums of the counts of its parts, and the rows of a report add up to the total of the very range.
//   - Visitors are the union within a day of the site's zone, because the key that recognises them changes each night; over several days
//     they are the sum of the days, and labelled so.
//   - Every answer says up to which moment it is complete.
//
// Start reading at rollup.go; query.go answers, complete.go knows how complete the counts are.
package rollup
