package api

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
)

// TopicConfig is the configuration of a topic as the log uses it.
type TopicConfig struct {
	RetainFor     time.Duration // 0: forever
	RetainBytes   int64         // per partition, -1: no bound
	SegmentBytes  int64
	MaxBatchBytes int // of a batch as sent, compressed
	LogAppendTime bool
	MaxAhead      time.Duration // how far ahead of our clock a record may be dated
	Compact       bool
	Delete        bool

	SegmentAge      time.Duration // how long a segment is appended to
	DirtyRatio      float64       // what part of a compacted log must be dirty before it is cleaned
	MinLag          time.Duration // how long a record stays as it is at least
	MaxLag          time.Duration // after how long it is cleaned at the latest; 0: whenever the ratio says so
	DeleteRetention time.Duration // how long tombstones stay

	Compression string // compression.type
}

// Codec returns the codec that a batch sent with another one is to be compressed with, and whether it is.
func (c TopicConfig) Codec(sent record.Codec) (record.Codec, bool) {
	if c.Compression == "producer" || c.Compression == "" {
		return sent, false
	}
	name := c.Compression
	if name == "uncompressed" {
		name = record.None.String()
	}
	want, err := record.ParseCodec(name)
	if err != nil {
		panic("BUG: compression.type was not checked: " + err.Error())
	}
	return want, want != sent
}

// topicKey is one setting of a topic: Kafka's name, our default, and what a value must look like.
type topicKey struct {
	name  string
	value string
	kind  kmsg.ConfigType
	check func(string) error
	about string
}

const (
	defaultRetentionMs  = "604800000" // 7 days, as Kafka
	defaultSegmentBytes = "134217728" // 128 MiB: what an unclean stop makes the next start read again, per partition
	defaultMaxBatch     = "1048588"   // 1 MiB and the 12 bytes around it, as Kafka
)

// topicKeys are the settings that are taken, in order of name. Others are refused: a setting that has no effect would be a lie.
var topicKeys = []topicKey{
	{"cleanup.policy", "delete", kmsg.ConfigTypeList, policyList, "delete: by retention; compact: of each key the newest record is kept; compact,delete: both"},
	{"compression.type", "producer", kmsg.ConfigTypeString, oneOf("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"), "producer: batches are kept as they were sent; else they are compressed anew when they come with another codec"},
	{"delete.retention.ms", "86400000", kmsg.ConfigTypeLong, between(0, 1<<62), "how long a tombstone of a compacted topic stays once it has done its work"},
	{"file.delete.delay.ms", "0", kmsg.ConfigTypeLong, between(0, 1<<63-1), "files of segments that are let go are removed once nobody reads them, whatever this says"},
	{"flush.messages", "9223372036854775807", kmsg.ConfigTypeLong, between(1, 1<<63-1), "every batch is synced to disk before it is acknowledged, so that no value asks for more"},
	{"flush.ms", "9223372036854775807", kmsg.ConfigTypeLong, between(0, 1<<63-1), "as flush.messages"},
	{"max.compaction.lag.ms", "9223372036854775807", kmsg.ConfigTypeLong, between(1, 1<<63-1), "after how long a record is compacted, whatever min.cleanable.dirty.ratio says"},
	{"max.message.bytes", defaultMaxBatch, kmsg.ConfigTypeInt, between(1024, 100<<20), "largest record batch, as sent"},
	{"message.timestamp.after.max.ms", "3600000", kmsg.ConfigTypeLong, between(0, 1<<63-1), "records dated further ahead are refused"},
	{"message.timestamp.type", "CreateTime", kmsg.ConfigTypeString, oneOf("CreateTime", "LogAppendTime"), "whose clock dates records"},
	{"min.cleanable.dirty.ratio", "0.5", kmsg.ConfigTypeDouble, ratio, "part of a compacted log that must be dirty before it is cleaned"},
	{"min.compaction.lag.ms", "0", kmsg.ConfigTypeLong, between(0, 1<<63-1), "how long a record is not compacted"},
	{"min.insync.replicas", "1", kmsg.ConfigTypeInt, between(1, 16), "acknowledged is what a majority of replicas has on disk, whatever this says"},
	{"retention.bytes", "-1", kmsg.ConfigTypeLong, between(-1, 1<<63-1), "bytes kept per partition; -1: no bound"},
	{"retention.ms", defaultRetentionMs, kmsg.ConfigTypeLong, between(-1, 1<<63-1), "how long records are kept; -1: forever"},
	{"segment.bytes", defaultSegmentBytes, kmsg.ConfigTypeInt, between(64<<10, 1<<31-1), "size at which a new segment file is begun"},
	{"segment.ms", defaultRetentionMs, kmsg.ConfigTypeLong, between(1, 1<<63-1), "how long a segment is appended to before the next is begun"},
}

func topicKeyOf(name string) (topicKey, bool) {
	i, ok := slices.BinarySearchFunc(topicKeys, name, func(k topicKey, n string) int { return strings.Compare(k.name, n) })
	if !ok {
		return topicKey{}, false
	}
	return topicKeys[i], true
}

// ErrConfig is returned for a topic setting that does not exist or a value it can't have.
var ErrConfig = errors.New("invalid topic configuration")

// CheckTopicConfig returns ErrConfig with the first setting, in order of name, that is unknown or has a value out of its range.
func CheckTopicConfig(configs map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		k, ok := topicKeyOf(name)
		if !ok {
			return fmt.Errorf("%w: there is no setting %.100q", ErrConfig, name)
		}
		if err := k.check(configs[name]); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrConfig, name, err)
		}
	}
	return nil
}

// ParseTopicConfig fills in defaults. Values that CheckTopicConfig would refuse become their default: a topic that is agreed on must open.
func ParseTopicConfig(configs map[string]string) TopicConfig {
	get := func(name string) string {
		k, _ := topicKeyOf(name)
		if v, ok := configs[name]; ok && k.check(v) == nil {
			return v
		}
		return k.value
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(get(name), 10, 64)
		if err != nil {
			panic("BUG: default of " + name + " is no number")
		}
		return n
	}
	policy := strings.Split(strings.ReplaceAll(get("cleanup.policy"), " ", ""), ",")
	c := TopicConfig{
		RetainBytes:   number("retention.bytes"),
		SegmentBytes:  number("segment.bytes"),
		MaxBatchBytes: int(number("max.message.bytes")),
		LogAppendTime: get("message.timestamp.type") == "LogAppendTime",
		Compact:       slices.Contains(policy, "compact"),
		Delete:        slices.Contains(policy, "delete"),
		Compression:   get("compression.type"),
	}
	if ms := number("retention.ms"); ms >= 0 && ms <= maxMillis {
		c.RetainFor = time.Duration(max(ms, 1)) * time.Millisecond
	}
	longest := func(name string) time.Duration {
		return time.Duration(min(number(name), maxMillis)) * time.Millisecond
	}
	c.SegmentAge, c.DeleteRetention = longest("segment.ms"), longest("delete.retention.ms")
	c.MinLag = longest("min.compaction.lag.ms")
	if ms := number("max.compaction.lag.ms"); ms <= maxMillis {
		c.MaxLag = time.Duration(ms) * time.Millisecond
	}
	c.DirtyRatio, _ = strconv.ParseFloat(get("min.cleanable.dirty.ratio"), 64) // checked
	c.MaxAhead = time.Duration(min(number("message.timestamp.after.max.ms"), maxMillis)) * time.Millisecond
	return c
}

// maxMillis is the longest time.Duration in milliseconds, 292 years. Longer ones mean forever.
const maxMillis = int64(1<<63-1) / int64(time.Millisecond)

func between(low, high int64) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%.40q, must be a whole number from %d to %d", s, low, high)
		}
		return nil
	}
}

func oneOf(values ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("%.40q, must be %s", s, strings.Join(values, " or "))
		}
		return nil
	}
}

func policyList(s string) error {
	for p := range strings.SplitSeq(strings.ReplaceAll(s, " ", ""), ",") {
		if p != "delete" && p != "compact" {
			return fmt.Errorf("%.40q, must be delete, compact or compact,delete", s)
		}
	}
	return nil
}

func ratio(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("%.40q, must be a number from 0 to 1", s)
	}
	return nil
}
