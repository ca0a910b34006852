package clients

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// suite runs all cases with one client, beside those of other clients. member makes the command of a group member.
func suite(t *testing.T, d driver, tr traits, member func(group, topic string) *exec.Cmd) {
	t.Helper()
	needNode(t)
	t.Parallel()
	name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "Test"), "/", ".")
	run := func(what string, fn func(t *testing.T, topic string)) {
		t.Run(what, func(t *testing.T) {
			if why, ok := tr.no[what]; ok {
				t.Skip(why)
			}
			topic := fmt.Sprintf("%s.%s.%d", name, what, rand.Uint32())
			fn(t, topic)
		})
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		run("codec-"+codec, func(t *testing.T, topic string) { codecCase(t, d, topic, codec) })
	}
	run("nulls-and-headers", func(t *testing.T, topic string) { nullsCase(t, d, topic, tr.emptyIsNull) })
	run("10MiB", func(t *testing.T, topic string) { largeCase(t, d, topic) })
	run("rewind-by-offset", func(t *testing.T, topic string) { offsetCase(t, d, topic) })
	run("rewind-by-time", func(t *testing.T, topic string) { timeCase(t, d, topic) })
	run("idempotent", func(t *testing.T, topic string) { idempotentCase(t, d, topic) })
	run("group-leave", func(t *testing.T, topic string) { groupCase(t, d, topic, member, (*memberProcess).leave) })
	run("group-death", func(t *testing.T, topic string) { groupCase(t, d, topic, member, (*memberProcess).die) })
	run("transaction", func(t *testing.T, topic string) { transactionCase(t, d, topic, !tr.noOffsets) })
}

func timeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func admin(t *testing.T) *kadm.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(node.seed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return kadm.NewClient(c)
}

func createTopic(t *testing.T, topic string, partitions int32, configs ...string) {
	t.Helper()
	m := map[string]*string{}
	for i := 0; i+1 < len(configs); i += 2 {
		m[configs[i]] = &configs[i+1]
	}
	if _, err := admin(t).CreateTopic(timeout(t, 2*time.Minute), partitions, -1, m, topic); err != nil {
		t.Fatalf("create topic %s: %v", topic, err)
	}
}

func mustProduce(t *testing.T, d driver, topic string, partition int32, opts produceOpts, recs []rec) {
	t.Helper()
	if opts.Codec == "" {
		opts.Codec = "none"
	}
	if err := d.produce(timeout(t, 2*time.Minute), topic, partition, opts, recs); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

func mustConsume(t *testing.T, d driver, topic string, offset int64, n int) []rec {
	t.Helper()
	got, err := d.consume(timeout(t, 2*time.Minute), topic, 0, offset, n)
	if err != nil {
		t.Fatalf("consume from %d: %v", offset, err)
	}
	if len(got) != n {
		t.Fatalf("consume from %d: %d records, want %d", offset, len(got), n)
	}
	return got
}

func numbered(from, n int) []rec {
	var recs []rec
	for i := range n {
		recs = append(recs, rec{Key: fmt.Appendf(nil, "key %d", i%7), Value: fmt.Appendf(nil, "value number %d", from+i)})
	}
	return recs
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%.40q (%d bytes)", b, len(b))
}

// compare checks records against those produced, which got the offsets from first on.
func compare(t *testing.T, got, want []rec, first int64) {
	t.Helper()
	for i, g := range got {
		w := want[i]
		if g.Offset != first+int64(i) || !sameBytes(g.Key, w.Key) || !sameBytes(g.Value, w.Value) {
			t.Fatalf("record %d: offset %d key %s value %s, want offset %d key %s value %s",
				i, g.Offset, text(g.Key), text(g.Value), first+int64(i), text(w.Key), text(w.Value))
		}
		if !slices.EqualFunc(g.Headers, w.Headers, func(a, b header) bool { return a.Key == b.Key && sameBytes(a.Value, b.Value) }) {
			t.Fatalf("record %d: headers %v, want %v", i, g.Headers, w.Headers)
		}
	}
}

func codecCase(t *testing.T, d driver, topic, codec string) {
	createTopic(t, topic, 1)
	want := numbered(0, 500)
	mustProduce(t, d, topic, 0, produceOpts{Codec: codec}, want)
	compare(t, mustConsume(t, d, topic, 0, len(want)), want, 0)
	if used := codecOf(t, topic); used != codec {
		t.Errorf("the batches are stored with codec %s, want %s", used, codec)
	}
}

// codecOf asks a second client which codec the first batch of the partition has.
func codecOf(t *testing.T, topic string) string {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(node.seed), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fetches := c.PollRecords(timeout(t, 2*time.Minute), 1)
	if fetches.Err() != nil || fetches.NumRecords() == 0 {
		t.Fatalf("read the first record: %v", fetches.Err())
	}
	return []string{"none", "gzip", "snappy", "lz4", "zstd"}[fetches.Records()[0].Attrs.CompressionType()]
}

func nullsCase(t *testing.T, d driver, topic string, emptyIsNull bool) {
	createTopic(t, topic, 1)
	want := []rec{
		{Key: nil, Value: []byte("null key")},
		{Key: []byte("null value"), Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: nil, Value: nil},
		{Key: []byte("headers"), Value: []byte("v"), Headers: []header{{"a", []byte("1")}, {"a", []byte("2")}, {"empty", []byte{}}, {"bytes", []byte{0, 255, 10}}}},
	}
	mustProduce(t, d, topic, 0, produceOpts{}, want)
	compare(t, mustConsume(t, franz{node.seed}, topic, 0, len(want)), want, 0) // another client sees what it has written
	if emptyIsNull {
		want[2].Key, want[2].Value, want[4].Headers[2].Value = nil, nil, nil
	}
	compare(t, mustConsume(t, d, topic, 0, len(want)), want, 0)
}

func largeCase(t *testing.T, d driver, topic string) {
	createTopic(t, topic, 1, "max.message.bytes", fmt.Sprint(limit))
	big := make([]byte, maxRecord)
	rand.NewChaCha8([32]byte{1}).Read(big)
	want := []rec{{Key: []byte("big"), Value: big}, {Key: []byte("small"), Value: []byte("after it")}}
	mustProduce(t, d, topic, 0, produceOpts{}, want[:1])
	mustProduce(t, d, topic, 0, produceOpts{}, want[1:])
	compare(t, mustConsume(t, d, topic, 0, 2), want, 0)

	small := topic + ".default" // what is too large for a topic is refused, and said to be
	createTopic(t, small, 1)
	err := d.produce(timeout(t, 2*time.Minute), small, 0, produceOpts{Codec: "none"}, want[:1])
	t.Logf("10 MiB to a topic with the default limit: %v", err)
	if err == nil {
		t.Error("a record of 10 MiB was taken by a topic with a limit of 1 MiB")
	}
}

func offsetCase(t *testing.T, d driver, topic string) {
	createTopic(t, topic, 1)
	want := numbered(0, 100)
	mustProduce(t, d, topic, 0, produceOpts{}, want)
	compare(t, mustConsume(t, d, topic, 90, 10), want[90:], 90)
	compare(t, mustConsume(t, d, topic, 3, 97), want[3:], 3)
	compare(t, mustConsume(t, d, topic, 0, 100), want, 0)
}

func timeCase(t *testing.T, d driver, topic string) {
	createTopic(t, topic, 1)
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	recs := numbered(0, 60)
	for i := range recs {
		recs[i].TimeMs = begin.Add(time.Duration(i) * time.Minute).UnixMilli()
	}
	mustProduce(t, d, topic, 0, produceOpts{}, recs)
	for at, want := range map[time.Duration]int64{-time.Minute: 0, 0: 0, 10*time.Minute - time.Second: 10, 10 * time.Minute: 10, 59 * time.Minute: 59} {
		got, err := d.offsetAt(timeout(t, 2*time.Minute), topic, 0, begin.Add(at))
		if err != nil || got != want {
			t.Errorf("offset at %v: %d, %v, want %d", at, got, err, want)
		}
	}
	if got, err := d.offsetAt(timeout(t, 2*time.Minute), topic, 0, begin.Add(time.Hour)); err != nil || (got != -1 && got != 60) {
		t.Errorf("offset after the last record: %d, %v, want -1 or the end", got, err)
	}
	if got := mustConsume(t, d, topic, 10, 1); got[0].TimeMs != recs[10].TimeMs {
		t.Errorf("time of record 10: %d, want %d", got[0].TimeMs, recs[10].TimeMs)
	}
}

func idempotentCase(t *testing.T, d driver, topic string) {
	createTopic(t, topic, 1)
	want := numbered(0, 300)
	mustProduce(t, d, topic, 0, produceOpts{Idempotent: true}, want)
	compare(t, mustConsume(t, d, topic, 0, len(want)), want, 0)
	producers, err := admin(t).ListEndOffsets(timeout(t, 2*time.Minute), topic)
	if err != nil {
		t.Fatal(err)
	}
	if end, _ := producers.Lookup(topic, 0); end.Offset != int64(len(want)) {
		t.Errorf("the partition ends at %d, want %d", end.Offset, len(want))
	}
}

// groupCase: one member reads all, a second one takes half over, one goes, the other has everything, a third one goes on where they were.
func groupCase(t *testing.T, d driver, topic string, member func(group, topic string) *exec.Cmd, end func(*memberProcess)) {
	const partitions, n = 4, 40
	group := "group." + topic
	createTopic(t, topic, partitions)
	round := 0
	began := time.Now()
	step := func(what string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), what) }
	produce := func() (want []string) {
		for p := range int32(partitions) {
			recs := numbered(round*n+int(p)*n/partitions, n/partitions)
			mustProduce(t, d, topic, p, produceOpts{}, recs)
			for _, r := range recs {
				want = append(want, string(r.Value))
			}
		}
		round++
		return want
	}
	all := produce() // the number of records read is looked at only when all are committed, so that each must be read once
	a := startMember(t, member(group, topic))
	waitFor(t, "the first member to read and commit all", func() bool { return a.count() == n && lag(t, group) == 0 })
	step("one member has read all")
	b := startMember(t, member(group, topic))
	waitMembers(t, group, 2)
	step("a second member is there")
	all = append(all, produce()...)
	waitFor(t, "two members to read all", func() bool { return a.count()+b.count() >= 2*n && lag(t, group) == 0 })
	step("two members share")
	if b.count() == 0 || a.count() == n {
		t.Errorf("the members read %d and %d records, want some each", a.count(), b.count())
	}
	end(a)
	waitMembers(t, group, 1)
	step("the first member is out")
	all = append(all, produce()...)
	waitFor(t, "the other member to read all", func() bool { return a.count()+b.count() >= 3*n && lag(t, group) == 0 })
	b.leave()
	waitMembers(t, group, 0)
	step("the second member has left")
	all = append(all, produce()...)
	c := startMember(t, member(group, topic))
	waitFor(t, "a third member to go on", func() bool { return c.count() >= n && lag(t, group) == 0 })
	c.leave()
	got := slices.Concat(a.values(), b.values(), c.values())
	slices.Sort(got)
	slices.Sort(all)
	if !slices.Equal(got, all) {
		t.Errorf("read %d records, %d different, want each of %d once", len(got), len(slices.Compact(got)), len(all))
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("waited 3 min for %s", what)
		}
	}
}

// lag is how many records the group has not committed, -1 when it cannot be told.
func lag(t *testing.T, group string) int64 {
	t.Helper()
	lags, err := admin(t).Lag(timeout(t, 2*time.Minute), group)
	g, ok := lags[group]
	if err != nil || !ok || g.Error() != nil {
		return -1
	}
	return g.Lag.Total()
}

func waitMembers(t *testing.T, group string, n int) {
	t.Helper()
	last := ""
	defer func() {
		if t.Failed() {
			t.Log(last)
		}
	}()
	waitFor(t, fmt.Sprintf("the group to settle with %d members", n), func() bool {
		groups, err := admin(t).DescribeGroups(timeout(t, 2*time.Minute), group)
		g := groups[group]
		last = fmt.Sprintf("group is %s with %d members, %v %v", g.State, len(g.Members), err, g.Err)
		return err == nil && len(g.Members) == n && (g.State == "Stable" || n == 0)
	})
}

// transactionCase: what was committed is read once and in order by those who read committed records only, what was aborted is not, and
// the offsets that went with it likewise.
func transactionCase(t *testing.T, d driver, topic string, offsets bool) {
	createTopic(t, topic, 1)
	group := "group." + topic
	txns := []transaction{{"first", 1, true}, {"aborted", 2, false}, {"second", 3, true}, {"third", 4, true}, {"aborted too", 5, false}}
	if err := d.transact(timeout(t, 2*time.Minute), topic, group, txns); err != nil {
		t.Fatal(err)
	}
	c, err := franz{node.seed}.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := timeout(t, time.Minute)
	var got []string
	for len(got) < 3 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %q: %v", got, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	waitFor(t, "the markers of the last transaction", func() bool {
		stable, err := admin(t).ListCommittedOffsets(ctx, topic)
		ends, endErr := admin(t).ListEndOffsets(ctx, topic)
		return err == nil && endErr == nil && stable[topic][0].Offset == ends[topic][0].Offset
	})
	if !offsets {
		return
	}
	waitFor(t, "the offset of the last committed transaction", func() bool {
		committed, err := admin(t).FetchOffsets(ctx, group)
		at, ok := committed.Lookup(topic, 0)
		return err == nil && ok && at.At == 4
	})
}
