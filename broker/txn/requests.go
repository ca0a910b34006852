package txn

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerID gives the caller the producer of a transactional id, under an epoch that nobody had: whoever had it before is
// fenced, and a transaction that it has left is aborted. Without a transactional id it gives a fresh producer id.
//
// From version 3 on the request may name the id and epoch that the caller has (KIP-360): then it gets the next epoch only as
// long as nobody else has come. Version 4 knows PRODUCER_FENCED.
func (c *Coordinator) InitProducerID(ctx context.Context, req *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	res := c.initProducerID(ctx, req)
	resp.ErrorCode = fencedCode(res.code, req.Version, 4)
	resp.ProducerID, resp.ProducerEpoch = res.id, res.epoch
	return resp
}

func (c *Coordinator) initProducerID(ctx context.Context, req *kmsg.InitProducerIDRequest) answer {
	if req.TransactionalID == nil {
		return c.freshProducer(ctx)
	}
	timeout := time.Duration(req.TransactionTimeoutMillis) * time.Millisecond
	named := req.Version >= 3 && (req.ProducerID != noProducerID || req.ProducerEpoch != noEpoch)
	switch {
	case *req.TransactionalID == "", named && (req.ProducerID < 0 || req.ProducerEpoch < 0):
		return failed(codeInvalidRequest)
	case timeout <= 0 || timeout > c.env.cfg.MaxTimeout:
		return failed(codeInvalidTransactionTimeout)
	}
	id := strings.Clone(*req.TransactionalID)
	r := initRequest{timeoutMs: req.TransactionTimeoutMillis, freshID: noProducerID}
	if named {
		r.expected = &producer{req.ProducerID, req.ProducerEpoch}
	}
	return c.withID(ctx, id, func(fresh int64) (answer, bool) {
		needID := false
		r.freshID = fresh
		res := c.run(ctx, id, func(s *shard, _ *txn, now time.Time, done func(answer)) (again <-chan struct{}) {
			if s.crowded() {
				done(failed(codeCoordinatorNotAvailable))
				return nil
			}
			again, needID = s.ensure(id).initProducer(now, r, done)
			if needID {
				done(answer{})
			}
			return again
		})
		return res, needID
	})
}

func (c *Coordinator) freshProducer(ctx context.Context) answer {
	id, err := c.ids.take(ctx)
	if err != nil {
		c.env.log.Warn("no producer id", "err", err)
		return failed(codeCoordinatorNotAvailable) // clients try again
	}
	return answer{codeNone, producer{id, 0}}
}

// withID runs fn, and again with an id that nobody has when it finds that it needs one: ids are agreed on with the controller,
// which no lock can wait for.
func (c *Coordinator) withID(ctx context.Context, id string, fn func(fresh int64) (res answer, needID bool)) answer {
	res, needID := fn(noProducerID)
	if !needID {
		return res
	}
	fresh, err := c.ids.take(ctx)
	if err != nil {
		c.env.log.Warn("no producer id", "txn", id, "err", err)
		return failed(codeCoordinatorNotAvailable)
	}
	res, _ = fn(fresh)
	return res
}

// EndTxn commits or aborts the running transaction, and answers when that is decided for good. Version 2 knows PRODUCER_FENCED,
// from 5 on the producer goes on under another epoch, which is in the answer (KIP-890). conn is the number of the connection,
// rising with the time of its opening; 0 when unknown.
func (c *Coordinator) EndTxn(ctx context.Context, conn uint64, req *kmsg.EndTxnRequest) *kmsg.EndTxnResponse {
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	if req.TransactionalID == "" {
		resp.ErrorCode = codeInvalidRequest
		return resp
	}
	r := endRequest{
		producer: producer{req.ProducerID, req.ProducerEpoch}, commit: req.Commit, version: versionOne, conn: conn,
	}
	if req.Version >= 5 {
		r.version = versionTwo
	}
	res := c.withID(ctx, req.TransactionalID, func(fresh int64) (answer, bool) {
		needID := false
		r.freshID = fresh
		res := c.run(ctx, req.TransactionalID, func(_ *shard, t *txn, now time.Time, done func(answer)) (again <-chan struct{}) {
			if t == nil {
				done(failed(codeInvalidProducerIDMapping))
				return nil
			}
			again, needID = t.end(now, r, done)
			if needID {
				done(answer{})
			}
			return again
		})
		return res, needID
	})
	resp.ErrorCode = fencedCode(res.code, req.Version, 2)
	if req.Version >= 5 {
		resp.ProducerID, resp.ProducerEpoch = res.id, res.epoch
	}
	return resp
}

// AddOffsetsToTxn makes the offsets of a group part of the transaction. Version 2 knows PRODUCER_FENCED.
func (c *Coordinator) AddOffsetsToTxn(ctx context.Context, conn uint64, req *kmsg.AddOffsetsToTxnRequest) *kmsg.AddOffsetsToTxnResponse {
	resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	topic, partition, ok := c.env.cfg.GroupPartition(req.Group)
	switch {
	case req.TransactionalID == "":
		resp.ErrorCode = codeInvalidRequest
	case !ok:
		resp.ErrorCode = codeCoordinatorNotAvailable
	default:
		p := producer{req.ProducerID, req.ProducerEpoch}
		code := c.add(ctx, req.TransactionalID, p, versionOne, []topicPartition{{topic, partition}}, conn)
		resp.ErrorCode = fencedCode(code, req.Version, 2)
	}
	return resp
}

// add makes partitions part of the running transaction, or begins one.
func (c *Coordinator) add(ctx context.Context, id string, p producer, version int16, tps []topicPartition, conn uint64) int16 {
	return c.run(ctx, id, func(s *shard, t *txn, now time.Time, done func(answer)) <-chan struct{} {
		switch {
		case t == nil:
			done(failed(codeInvalidProducerIDMapping))
			return nil
		case s.crowded():
			done(failed(codeCoordinatorNotAvailable))
			return nil
		}
		return t.add(now, p, version, tps, conn, done)
	}).code
}

// verify says whether all partitions are part of p's running transaction.
func (c *Coordinator) verify(ctx context.Context, id string, p producer, tp topicPartition) int16 {
	return c.run(ctx, id, func(_ *shard, t *txn, _ time.Time, done func(answer)) <-chan struct{} {
		code, again := codeInvalidProducerIDMapping, (<-chan struct{})(nil)
		if t != nil {
			code, again = t.verify(p, tp)
		}
		if again == nil {
			done(answer{code: code})
		}
		return again
	}).code
}
