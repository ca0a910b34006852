package broker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// serveOthers answers what other nodes ask of the partitions that this one leads.
func (b *Broker) serveOthers() {
	b.cfg.Peers.Handle(transport.ServiceAppend, b.serveAppend)
	b.cfg.Peers.Handle(transport.ServiceMarker, b.serveMarker)
	b.cfg.Peers.Handle(transport.ServiceVerify, b.serveVerify)
}

// serverOf is the server id of the node that leads a partition, false when that is this node or not known.
func (b *Broker) serverOf(p api.Partition) (string, bool) {
	leader, _, serving := p.Leader()
	if serving || leader == b.cfg.NodeID {
		return "", false
	}
	n, ok := b.ctl.State().Nodes[leader]
	return n.ServerID, ok
}

const (
	// leaderFor bounds how long an append from within the node waits for a partition to get a leader, when its context has no deadline.
	leaderFor = 10 * time.Second
	// lookAgain is how long it waits at most before it looks for one again.
	lookAgain = 100 * time.Millisecond
)

// appendBatch writes a batch to the leader of a partition, wherever that is. What was certainly not written is tried again while there may
// soon be another leader.
func (b *Broker) appendBatch(ctx context.Context, p *partition, batch []byte) (int64, error) {
	if !b.clustered() {
		return wait(ctx, p.Append(ctx, batch))
	}
	began := time.Now()
	for {
		changed := b.changed.wait()
		base, err := b.appendOnce(ctx, p, batch)
		if !errors.Is(err, replica.ErrNotLeader) && !errors.Is(err, replica.ErrNotReady) || time.Since(began) > leaderFor {
			return base, err
		}
		select {
		case <-changed:
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return -1, err
		}
	}
}

func (b *Broker) appendOnce(ctx context.Context, p *partition, batch []byte) (int64, error) {
	to, elsewhere := b.serverOf(p)
	if !elsewhere {
		return wait(ctx, p.Append(ctx, append([]byte(nil), batch...))) // the log owns what it takes
	}
	id := p.spec.group()
	body := append(append(make([]byte, 0, len(id)+len(batch)), id[:]...), batch...)
	answer, err := b.cfg.Peers.Call(ctx, to, transport.ServiceAppend, body)
	switch {
	case errors.Is(err, transport.ErrNotSent), errors.Is(err, transport.ErrRefused):
		return -1, fmt.Errorf("%w: %w", replica.ErrNotReady, err)
	case err != nil:
		return -1, fmt.Errorf("%w: %w", replica.ErrOutcomeUnknown, err)
	}
	return parseAppended(answer)
}

// appendErrors are the errors of an append as they travel, by number; 0 is none. Numbers are never reused.
var appendErrors = []error{
	1: replica.ErrOutcomeUnknown, 2: replica.ErrNotLeader, 3: replica.ErrNotReady, 4: replica.ErrQueueFull, 5: replica.ErrDiskFull, 6: replica.ErrStopped,
	7: replica.ErrBatchTooLarge, 8: replica.ErrCorruptBatch, 9: replica.ErrInvalidRecord, 10: replica.ErrUnsupportedMagic,
}

// appended is the answer to an append: the base offset, the number of the error, and its text.
func appended(base int64, err error) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(base))
	if err == nil {
		return append(b, 0)
	}
	for i, known := range appendErrors {
		if i > 0 && errors.Is(err, known) {
			return append(append(b, byte(i)), err.Error()...)
		}
	}
	return append(append(b, 1), err.Error()...)
}

func parseAppended(b []byte) (int64, error) {
	if len(b) < 9 {
		return -1, fmt.Errorf("%w: an answer of %d bytes", replica.ErrOutcomeUnknown, len(b))
	}
	base, n := int64(binary.BigEndian.Uint64(b)), int(b[8])
	switch {
	case n == 0:
		return base, nil
	case n >= len(appendErrors):
		n = 1 // of a later version
	}
	return -1, fmt.Errorf("%w: at the leader: %s", appendErrors[n], b[9:])
}

func (b *Broker) serveAppend(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var id hardstate.GroupID
	if len(body) < len(id) {
		return nil, errors.New("an append without a partition")
	}
	copy(id[:], body)
	topicID, n := id.Partition()
	p, ok := b.view.Load().ByID[topicID].Partition(n)
	if !ok {
		return appended(-1, replica.ErrNotReady), nil
	}
	return appended(wait(ctx, p.Append(ctx, body[len(id):]))), nil
}

// remoteMarker is a marker on its way to the leader of a partition.
type remoteMarker struct {
	Topic     string        `json:"topic"`
	Partition int32         `json:"partition"`
	Marker    record.Marker `json:"marker"`
}

// markerErrors are the errors of a marker as they travel, as appendErrors.
var markerErrors = []error{1: errMarker, 2: txn.ErrNoPartition, 3: txn.ErrNewerProducer, 4: txn.ErrNewerCoordinator}

var errMarker = errors.New("the marker is not written yet")

// writeMarker hands a marker to the leader of its partition.
func (b *Broker) writeMarker(ctx context.Context, to string, m remoteMarker) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a marker: %w", err)
	}
	answer, err := b.cfg.Peers.Call(ctx, to, transport.ServiceMarker, body)
	if err != nil {
		return err
	}
	if len(answer) == 0 || answer[0] == 0 {
		return nil
	}
	return fmt.Errorf("%w: at the leader: %s", markerErrors[min(int(answer[0]), len(markerErrors)-1)], answer[1:])
}

func (b *Broker) serveMarker(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var m remoteMarker
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("a marker: %w", err)
	}
	err := markers{b}.write(ctx, m.Topic, m.Partition, m.Marker)
	if err == nil {
		return []byte{0}, nil
	}
	for i := len(markerErrors) - 1; i > 1; i-- {
		if errors.Is(err, markerErrors[i]) {
			return append([]byte{byte(i)}, err.Error()...), nil
		}
	}
	return append([]byte{1}, err.Error()...), nil
}

// verifying asks the coordinator of a transaction, wherever that is.
type verifying struct{ b *Broker }

// verification is the question on its way.
type verification struct {
	TransactionalID string `json:"transactional_id"`
	ProducerID      int64  `json:"producer_id"`
	Epoch           int16  `json:"epoch"`
	Topic           string `json:"topic"`
	Partition       int32  `json:"partition"`
	ImplicitAdd     bool   `json:"implicit_add"`
}

// Verify implements api.Transactions.
func (v verifying) Verify(ctx context.Context, id string, producerID int64, epoch int16, topic string, partition int32, implicitAdd bool) *kerr.Error {
	states := v.b.view.Load().ByName[txn.StateTopic]
	if states != nil {
		p, ok := states.Partition(txn.PartitionOf(id, int32(len(states.Partitions))))
		if ok {
			if to, elsewhere := v.b.serverOf(p); elsewhere {
				return v.ask(ctx, to, verification{id, producerID, epoch, topic, partition, implicitAdd})
			}
		}
	}
	return v.b.txns.Verify(ctx, id, producerID, epoch, topic, partition, implicitAdd)
}

func (v verifying) ask(ctx context.Context, to string, q verification) *kerr.Error {
	body, err := json.Marshal(q)
	if err != nil {
		panic("BUG: a verification can't be encoded: " + err.Error())
	}
	answer, err := v.b.cfg.Peers.Call(ctx, to, transport.ServiceVerify, body)
	if err != nil || len(answer) != 2 {
		return kerr.CoordinatorNotAvailable
	}
	return kerr.TypedErrorForCode(int16(binary.BigEndian.Uint16(answer)))
}

func (b *Broker) serveVerify(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var q verification
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("a question about a transaction: %w", err)
	}
	var code int16
	if err := b.txns.Verify(ctx, q.TransactionalID, q.ProducerID, q.Epoch, q.Topic, q.Partition, q.ImplicitAdd); err != nil {
		code = err.Code
	}
	return binary.BigEndian.AppendUint16(nil, uint16(code)), nil
}

// ReportOpen tells the cluster which partitions of coordinators this node has opened before it had peers. Their groups exist then, whoever
// else gets them.
func (b *Broker) ReportOpen(ctx context.Context) error {
	s := b.ctl.State()
	for _, name := range []string{group.OffsetsTopic, txn.StateTopic} {
		t, ok := s.Topics[name]
		if !ok {
			continue
		}
		var held []int32
		for n := range t.Partitions {
			if !s.PlacementOf(t, n).Open && b.engines.holds(engineSpec{Topic: t, Partition: n}) {
				held = append(held, n)
			}
		}
		if len(held) == 0 {
			continue
		}
		if err := b.ctl.OpenPartitions(ctx, t.ID, held); err != nil {
			return fmt.Errorf("tell which partitions of %s there are: %w", name, err)
		}
	}
	return nil
}
