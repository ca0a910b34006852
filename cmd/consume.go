package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type consumeFlags struct {
	from      string
	partition int32
	group     string
	limit     int64
	follow    bool
	raw       bool
}

func consumeCommand() *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use: "consume TOPIC", Short: "Print the records of a topic as JSON, hits and counts decoded",
		Long: `Print the records of a topic, one JSON document a line: topic, partition, offset, timestamp, key and value. The values of events
and of the rollup topics are decoded; other values are printed as JSON, as text, or as base64, whichever they are first.

The command stops at the end of the topic, unless --follow is given.`,
		Example: `  weir consume events --follow
  weir consume rollup.day | jq 'select(.value.report == "country")'`,
		Args: exactly(1),
	}
	b := brokerFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		start, err := parseStart(f.from)
		if err != nil {
			return err
		}
		if f.limit < 0 {
			return usagef("--limit: %d, want 1 or more", f.limit)
		}
		return consume(c, b, args[0], start, f)
	}
	c.Flags().StringVar(&f.from, "from", "start", "where to begin: start, end, an offset, or a time such as 2026-03-01T09:00:00Z")
	c.Flags().Int32Var(&f.partition, "partition", -1, "only this partition (default: all)")
	c.Flags().StringVar(&f.group, "group", "", "read as a member of this consumer group: begin where it stopped, and commit what was printed")
	c.Flags().Int64Var(&f.limit, "limit", 0, "stop after so many records (default: no limit)")
	c.Flags().BoolVar(&f.follow, "follow", false, "wait for more at the end of the topic")
	c.Flags().BoolVar(&f.raw, "raw", false, "print only the values, as they are, one a line")
	return c
}

// startAt is what --from says.
type startAt struct {
	kind   byte // 's'tart, 'e'nd, 'o'ffset or 't'ime
	offset int64
	at     time.Time
}

func parseStart(s string) (startAt, error) {
	switch s {
	case "start":
		return startAt{kind: 's'}, nil
	case "end":
		return startAt{kind: 'e'}, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return startAt{kind: 'o', offset: n}, nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return startAt{kind: 't', at: t}, nil
		}
	}
	return startAt{}, usagef("--from: %q, want start, end, an offset from 0 on, or a time such as 2026-03-01T09:00:00Z", s)
}

func consume(c *cobra.Command, b *brokerReach, topic string, start startAt, f consumeFlags) error {
	ctx := c.Context()
	opts := []kgo.Opt{
		kgo.KeepControlRecords(),       // not printed, but they take offsets up to the end
		kgo.KeepRetryableFetchErrors(), // to say what keeps a partition from being read
	}
	if f.group != "" {
		opts = append(opts, kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
		if start.kind == 'e' {
			opts = append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
		} else {
			opts = append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		}
	}
	client, err := b.client(ctx, opts...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	ranges, err := findRanges(ctx, kadm.NewClient(client), topic, start, f)
	if err != nil {
		return err
	}
	if f.group == "" {
		offsets := map[int32]kgo.Offset{}
		for p, r := range ranges {
			offsets[p] = kgo.NewOffset().At(r.next)
		}
		client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets})
	}
	out := bufio.NewWriter(c.OutOrStdout())
	r := reader{client: client, out: out, flags: f, topic: topic, ranges: ranges}
	return errors.Join(r.run(ctx), out.Flush())
}

// span is what there is to read of a partition.
type span struct{ next, end int64 }

// findRanges returns for each partition where reading begins and where the partition ends now.
func findRanges(ctx context.Context, adm *kadm.Client, topic string, start startAt, f consumeFlags) (map[int32]*span, error) {
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	var after kadm.ListedOffsets
	if start.kind == 't' {
		if after, err = adm.ListOffsetsAfterMilli(ctx, start.at.UnixMilli(), topic); err != nil {
			return nil, err
		}
	}
	var committed kadm.OffsetResponses
	if f.group != "" {
		if committed, err = adm.FetchOffsets(ctx, f.group); err != nil {
			return nil, fmt.Errorf("find where group %s stopped: %w", f.group, err)
		}
	}
	ranges := map[int32]*span{}
	for p, end := range ends[topic] {
		if f.partition >= 0 && p != f.partition {
			continue
		}
		if errors.Is(end.Err, kerr.UnknownTopicOrPartition) {
			break
		}
		if end.Err != nil {
			return nil, fmt.Errorf("find the end of %s: %w", topic, end.Err)
		}
		begin, _ := starts.Lookup(topic, p)
		s := &span{next: begin.Offset, end: end.Offset}
		if o, ok := committed.Lookup(topic, p); ok && o.At >= 0 {
			s.next = max(s.next, o.At)
		} else if start.kind == 'e' {
			s.next = end.Offset
		} else if start.kind == 'o' {
			s.next = min(max(s.next, start.offset), end.Offset)
		} else if at, ok := after.Lookup(topic, p); ok {
			s.next = at.Offset
		}
		ranges[p] = s
	}
	if len(ranges) == 0 {
		if n := len(ends[topic]); f.partition >= 0 && n > 1 {
			return nil, usagef("--partition: %s has no partition %d, it has 0 to %d", topic, f.partition, n-1)
		}
		return nil, fmt.Errorf("there is no topic %q; \"weir topics list\" shows them", topic)
	}
	return ranges, nil
}

// reader prints records.
type reader struct {
	client  *kgo.Client
	out     *bufio.Writer
	flags   consumeFlags
	topic   string
	ranges  map[int32]*span // next moves with what is read
	printed int64
	broken  []error   // of partitions that were given up
	idle    time.Time // since when nothing came but errors that may go by; zero when something did
}

const (
	// groupPatience is how long a member of a group that is not to follow waits for a record: other members may have the partitions in
	// which something is left.
	groupPatience = 5 * time.Second
	// errorPatience is how long errors that may go by, such as those of a node that is starting, are waited out.
	errorPatience = 15 * time.Second
)

// run reads until every range is read, or the limit is reached, or ctx ends. A partition that can't be read does not keep the others from
// being printed, unless it is to be followed.
func (r *reader) run(ctx context.Context) error {
	for !r.done() {
		pollCtx, cancel := ctx, context.CancelFunc(func() {})
		if r.flags.group != "" && !r.flags.follow {
			pollCtx, cancel = context.WithTimeout(ctx, groupPatience)
		}
		fetches := r.client.PollFetches(pollCtx)
		idle := pollCtx.Err() != nil
		cancel()
		if ctx.Err() != nil {
			break
		}
		failed := r.check(fetches, time.Now())
		if err := r.print(ctx, fetches); err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		if idle && fetches.NumRecords() == 0 {
			break
		}
	}
	return errors.Join(r.broken...)
}

// check looks at the errors of a poll, and returns the one that ends the command. Partitions that are broken are left out from then on.
func (r *reader) check(fetches kgo.Fetches, now time.Time) error {
	if fetches.NumRecords() > 0 {
		r.idle = time.Time{}
	}
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, context.DeadlineExceeded) {
			continue
		}
		err := r.readError(e)
		s := r.ranges[e.Partition]
		switch broken := errors.Is(e.Err, kerr.CorruptMessage) || errors.Is(e.Err, kerr.KafkaStorageError); {
		case broken && s != nil && !r.flags.follow:
			if s.next < s.end {
				r.broken = append(r.broken, err)
				s.next = s.end
			}
			r.client.PauseFetchPartitions(map[string][]int32{r.topic: {e.Partition}})
		case broken || !kerr.IsRetriable(e.Err):
			return err
		case r.idle.IsZero():
			r.idle = now
		case !r.flags.follow && now.Sub(r.idle) > errorPatience:
			return err
		}
	}
	return nil
}

// readError says where reading has stopped and what to do.
func (r *reader) readError(e kgo.FetchError) error {
	err := fmt.Errorf("read %s partition %d: %w", r.topic, e.Partition, e.Err)
	switch s := r.ranges[e.Partition]; {
	case s != nil && errors.Is(e.Err, kerr.CorruptMessage):
		return fmt.Errorf("%w: the record at offset %d is damaged on the disk of the node; its log and /readyz name the file and what to do", err, s.next)
	case errors.Is(e.Err, kerr.KafkaStorageError):
		return fmt.Errorf("%w: the partition has stopped; the log of the node and /readyz say why", err)
	}
	return err
}

// done reports whether there is nothing left to print.
func (r *reader) done() bool {
	if r.flags.limit > 0 && r.printed >= r.flags.limit {
		return true
	}
	if r.flags.follow {
		return false
	}
	for _, s := range r.ranges {
		if s.next < s.end {
			return false
		}
	}
	return true
}

// print prints what was fetched, up to the ends and the limit, and commits it for the group.
func (r *reader) print(ctx context.Context, fetches kgo.Fetches) error {
	var printed []*kgo.Record
	for rec := range fetches.RecordsAll() {
		s := r.ranges[rec.Partition]
		if s == nil || !r.flags.follow && rec.Offset >= s.end {
			continue
		}
		if r.flags.limit > 0 && r.printed >= r.flags.limit {
			break
		}
		s.next = rec.Offset + 1
		printed = append(printed, rec)
		if rec.Attrs.IsControl() {
			continue
		}
		if err := r.printOne(rec); err != nil {
			return err
		}
		r.printed++
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	if r.flags.group == "" || len(printed) == 0 {
		return nil
	}
	if err := r.client.CommitRecords(ctx, printed...); err != nil {
		return fmt.Errorf("commit what was printed: %w", err)
	}
	return nil
}

func (r *reader) printOne(rec *kgo.Record) error {
	if r.flags.raw {
		r.out.Write(rec.Value)
		return r.out.WriteByte('\n')
	}
	b, err := json.Marshal(recordDoc(rec))
	if err != nil {
		return err
	}
	r.out.Write(b)
	return r.out.WriteByte('\n')
}
