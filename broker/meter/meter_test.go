package meter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// fakePartition takes records of ten bytes.
type fakePartition struct {
	id                    ID
	since, to, start      int64
	leads                 bool
	counted               int // calls of Count
	committed, sinceBytes int64
}

func (p *fakePartition) ID() ID               { return p.id }
func (p *fakePartition) Topic() string        { return "orders" }
func (p *fakePartition) Leads() (int32, bool) { return 4, p.leads }
func (p *fakePartition) LogStart() int64      { return p.start }
func (p *fakePartition) Sum() Sum             { return Sum{p.since, p.to, p.to - p.since, 10 * (p.to - p.since)} }
func (p *fakePartition) Count(from, to int64) (int64, int64, error) {
	p.counted++
	from = max(from, p.start)
	return to - from, 10 * (to - from), nil
}

// fakeLog is a node with some partitions and a topic for the meter.
type fakeLog struct {
	t          *testing.T
	partitions []Partition
	stored     []byte
	next       int64
	times      []int64
	exists     bool
	fail       []error // of the next appends; a batch is stored when it is errUnknown
}

var errUnknown = errors.New("unknown whether it was written")

func (l *fakeLog) Partitions() []Partition     { return l.partitions }
func (l *fakeLog) Ready(context.Context) error { l.exists = true; return nil }
func (l *fakeLog) Exists() bool                { return l.exists }
func (l *fakeLog) Bounds() (int64, int64)      { return 0, l.next }
func (l *fakeLog) Append(_ context.Context, recs []record.Record) error {
	var err error
	if len(l.fail) > 0 {
		err, l.fail = l.fail[0], l.fail[1:]
	}
	if err != nil && !errors.Is(err, errUnknown) {
		return err
	}
	b := record.NewBuilder(record.None)
	for _, r := range recs {
		b.Append(r)
	}
	batch, buildErr := b.Build()
	if buildErr != nil {
		l.t.Fatal(buildErr)
	}
	record.SetPlace(batch, l.next, 1)
	l.stored = append(l.stored, batch...)
	l.next += int64(len(recs))
	return err
}
func (l *fakeLog) Read(offset int64, _ int) ([]byte, error) {
	for b := l.stored; len(b) > 0; {
		h, rest, err := record.Parse(b)
		if err != nil {
			return nil, err
		}
		if h.NextOffset() > offset {
			return b, nil
		}
		b = rest
	}
	return nil, nil
}
func (l *fakeLog) OffsetForTime(int64) (int64, bool, error) { return 0, l.next > 0, nil }

// ranges are all that were written, checked for joining up.
func (l *fakeLog) ranges() []Range {
	l.t.Helper()
	answer, err := New(Config{Log: l}).Find(l.t.Context(), Query{Partition: -1, Limit: 1 << 20, Since: time.Unix(0, 0)})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(answer.Faults) > 0 {
		l.t.Errorf("ranges do not join up: %+v in %+v", answer.Faults, answer.Ranges)
	}
	return answer.Ranges
}

// run lets a meter run for a time of the test.
func run(l *fakeLog, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := New(Config{Log: l}).Run(ctx); err != nil {
		l.t.Error(err)
	}
}

func TestEachMinuteIsARangeAndTheyJoinUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePartition{id: ID{[16]byte{1}, 3}, leads: true}
		l := &fakeLog{t: t, partitions: []Partition{p}}
		go func() {
			for range 40 {
				time.Sleep(10 * time.Second)
				if time.Since(time.Unix(946684800, 0)) < 5*time.Minute {
					p.to += 2
				}
			}
		}()
		run(l, 7*time.Minute+time.Second)
		list := l.ranges()
		records, bytes := int64(0), int64(0)
		for i, r := range list {
			records, bytes = records+r.Records, bytes+r.Bytes
			if r.Epoch != 4 || r.Partition != 3 || r.Recounted || i > 0 && r.Minute <= list[i-1].Minute {
				t.Errorf("range %+v", r)
			}
		}
		if len(list) != 5 || records != p.to || bytes != 10*p.to || list[0].From != 0 || list[4].To != p.to || p.counted > 0 {
			t.Errorf("%d ranges of %d records, want 5 of %d: %+v", len(list), records, p.to, list)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// A stop while it is not known whether a range was written ends that range before it begins the next one.
func TestAStopBetweenTwoTriesOfAWriteCountsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePartition{id: ID{[16]byte{1}, 0}, leads: true, to: 10}
		l := &fakeLog{t: t, partitions: []Partition{p}, fail: []error{errUnknown}}
		go func() {
			time.Sleep(time.Minute + time.Second)
			p.to = 12
		}()
		run(l, time.Minute+2*time.Second)
		list := l.ranges()
		if len(list) != 2 || list[0].To != 10 || list[1].From != 10 || list[1].To != 12 {
			t.Errorf("got %+v", list)
		}
	})
}

// A node that is killed, and another leader, go on where the last range ends.
func TestARestartGoesOnAndRecounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePartition{id: ID{[16]byte{1}, 0}, leads: true, to: 10}
		l := &fakeLog{t: t, partitions: []Partition{p}}
		run(l, 2*time.Minute+time.Second)
		p.since, p.to, p.start = 25, 30, 15 // meanwhile others wrote, some of which is deleted, and a new process counts from 25 on
		run(l, 30*time.Second)              // stops within its first minute
		p.to = 40
		run(l, time.Minute+time.Second)
		list := l.ranges()
		if len(list) != 3 || !list[1].Recounted || list[1].From != 10 || list[1].To != 30 || list[1].Records != 15 ||
			!list[2].Recounted || list[2].From != 30 || list[2].To != 40 {
			t.Errorf("got %+v", list)
		}
	})
}

// Whether a write failed, or nobody knows: nothing is missing, and twice in the
// topic counts once.
func TestFailedWritesAreWrittenAgainAsTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePartition{id: ID{[16]byte{1}, 0}, leads: true, to: 10}
		l := &fakeLog{t: t, partitions: []Partition{p}, fail: []error{errors.New("no leader"), errUnknown, nil}}
		go func() {
			for range 10 {
				time.Sleep(11 * time.Second)
				p.to += 5
			}
		}()
		run(l, 3*time.Minute+time.Second)
		records := int64(0)
		for _, r := range l.ranges() {
			records += r.Records
		}
		if records != p.to {
			t.Errorf("%d records are counted, want %d", records, p.to)
		}
	})
}

// A start finds the end of a partition that was quiet for long without reading
// the whole topic.
func TestAStartFindsQuietPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &fakePartition{id: ID{[16]byte{1}, 0}, leads: true, to: 10}
		busy := &fakePartition{id: ID{[16]byte{1}, 1}, leads: true}
		l := &fakeLog{t: t, partitions: []Partition{quiet, busy}}
		go func() {
			for range 3000 {
				time.Sleep(time.Minute)
				busy.to++
			}
		}()
		run(l, 2500*time.Minute)
		run(l, 100*time.Minute)
		if quiet.counted != 0 {
			t.Errorf("the quiet partition was counted %d times", quiet.counted)
		}
		l.ranges()
		time.Sleep(1000 * time.Minute)
		synctest.Wait()
	})
}

func TestAuditNamesGapsAndOverlaps(t *testing.T) {
	id := "00000000000000000000000000000001"
	a := Range{Topic: "a", TopicID: id, Minute: 1, From: 0, To: 10}
	b := Range{Topic: "a", TopicID: id, Minute: 2, From: 12, To: 20}
	c := Range{Topic: "a", TopicID: id, Minute: 3, From: 18, To: 25}
	_, faults := Audit([]Range{c, a, b, a})
	want := []Fault{{"a", 0, 2, 10, 12}, {"a", 0, 3, 20, 18}}
	if len(faults) != 2 || faults[0] != want[0] || faults[1] != want[1] {
		t.Errorf("got %+v, want %+v", faults, want)
	}
}

func FuzzParse(f *testing.F) {
	r := Range{Topic: "orders", TopicID: "00000000000000000000000000000001", Partition: 2, Epoch: 7, Minute: 29_000_000, From: 5, To: 9, Records: 4, Bytes: 400}
	f.Add(r.Key(), Append(nil, r))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, ok, err := Parse(key, value)
		if err != nil || !ok {
			return
		}
		again, ok, err := Parse(r.Key(), Append(nil, r))
		if err != nil || !ok || again != r {
			t.Fatalf("%+v became %+v, %v, %v", r, again, ok, err)
		}
	})
}
