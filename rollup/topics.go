package rollup

import (
	"strconv"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Names of the topics of the pipeline.
const (
	TopicEvents = "events"
	TopicDeltas = "rollup.deltas"
	TopicState  = "tally.state"
	TopicMinute = "rollup.minute"
	TopicHour   = "rollup.hour"
	TopicDay    = "rollup.day"
)

// Names of the consumer groups.
const (
	GroupTally  = "tally"
	GroupMinute = "rollup-minute"
	GroupHour   = "rollup-hour"
	GroupDay    = "rollup-day"
)

// Partitions is the number of partitions of each topic. A hit, its delta and its cells lie in partitions of the same number.
const Partitions = 8

// unitTopics and unitGroups go by length of the windows.
var (
	unitTopics = map[zone.Unit]string{zone.Minute: TopicMinute, zone.Hour: TopicHour, zone.Day: TopicDay}
	unitGroups = map[zone.Unit]string{zone.Minute: GroupMinute, zone.Hour: GroupHour, zone.Day: GroupDay}
)

// How long records are kept, for each partition. Events are what counts can be made from anew, and most of the disk; deltas are only on
// their way to the folds.
const (
	day              = 24 * 60 * 60 * 1000
	eventsKeepMs     = 90 * day
	eventsKeepBytes  = 8 << 30
	deltasKeepMs     = 7 * day
	deltasKeepBytes  = 1 << 30
	stateKeepBytes   = 128 << 20 // some times the most that one state takes
	stateSegment     = 16 << 20
	cellsSegment     = 16 << 20 // changed cells are written all the time, and only closed segments are compacted
	maxMessageBytes  = 1 << 20
	appendTimeConfig = "LogAppendTime" // imported history is not deleted at once
)

// Topics returns the topics that counting needs, for whoever makes those that are missing.
func Topics() []state.TopicSpec {
	number := func(n int64) *string { s := strconv.FormatInt(n, 10); return &s }
	text := func(s string) *string { return &s }
	spec := func(name string, configs map[string]*string) state.TopicSpec {
		configs["max.message.bytes"] = number(maxMessageBytes)
		return state.TopicSpec{Name: name, Partitions: Partitions, ReplicationFactor: -1, Configs: configs}
	}
	topics := []state.TopicSpec{
		spec(TopicEvents, map[string]*string{"cleanup.policy": text("delete"), "message.timestamp.type": text(appendTimeConfig),
			"retention.ms": number(eventsKeepMs), "retention.bytes": number(eventsKeepBytes)}),
		spec(TopicDeltas, map[string]*string{"cleanup.policy": text("delete"), "message.timestamp.type": text(appendTimeConfig),
			"retention.ms": number(deltasKeepMs), "retention.bytes": number(deltasKeepBytes)}),
		spec(TopicState, map[string]*string{"cleanup.policy": text("delete"), "retention.ms": number(eventsKeepMs), "retention.bytes": number(stateKeepBytes),
			"segment.bytes": number(stateSegment)}),
	}
	for _, name := range []string{TopicMinute, TopicHour, TopicDay} {
		topics = append(topics, spec(name, map[string]*string{"cleanup.policy": text("compact"), "segment.bytes": number(cellsSegment)}))
	}
	return topics
}
