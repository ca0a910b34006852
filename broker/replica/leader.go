package replica

import (
	"math"

	"github.com/hashicorp/raft"
)

// leadership is who leads, as this replica knows it. Immutable.
type leadership struct {
	nodeID  int32 // -1 when unknown
	epoch   int32
	serving bool // this node leads and has caught up
}

func (r *Replica) leadership() *leadership { return r.lead.Load() }

// Leader returns who leads the partition, in which epoch, and whether this
// replica is the leader and serves. nodeID is -1 while nobody is known to lead.
func (r *Replica) Leader() (nodeID int32, epoch int32, serving bool) {
	l := r.leadership()
	if l.serving || r.raft == nil || r.Err() != nil {
		return l.nodeID, l.epoch, l.serving
	}
	_, id := r.raft.LeaderWithID()
	nodeID = -1
	if id != "" {
		nodeID = r.cfg.NodeOf(string(id))
	}
	return nodeID, epochOf(r.raft.CurrentTerm()), false
}

func epochOf(term uint64) int32 { return int32(min(term, math.MaxInt32)) }

// serving returns nil when this replica takes batches.
func (r *Replica) serving() error {
	if err := r.Err(); err != nil {
		return err
	}
	switch l := r.leadership(); {
	case l.serving:
		return nil
	case r.raft != nil && r.raft.State() == raft.Leader:
		return ErrNotReady
	}
	return ErrNotLeader
}

func (r *Replica) setLeadership(l *leadership) {
	old := r.lead.Swap(l)
	if old == nil || *old != *l {
		if old != nil && old.serving != l.serving {
			r.report(LeaderChanged{Epoch: l.epoch, Serving: l.serving})
		}
		r.changed.notify()
	}
}

// watchLeadership follows raft's notices, which raft waits to hand over, until
// raft has ended. A leader serves once its Barrier is through: only then do
// high watermark and producers' state include all that its predecessors
// acknowledged.
func (r *Replica) watchLeadership() {
	defer close(r.watcher)
	var gen uint64
	ready := make(chan *leadership, 1)
	readyGen := make(chan uint64, 1)
	for {
		select {
		case leads, ok := <-r.notices:
			if !ok {
				return
			}
			gen++
			if !leads {
				r.setLeadership(&leadership{nodeID: -1, epoch: r.leadership().epoch})
				continue
			}
			// Ends when the barrier is applied or leadership is lost; when
			// raft dies instead it stays behind, with nothing but a stack.
			go func(gen uint64) {
				if l := r.barrier(); l != nil {
					select {
					case readyGen <- gen:
						ready <- l
					case <-r.ctx.Done():
					}
				}
			}(gen)
		case of := <-readyGen:
			if l := <-ready; of == gen && r.Err() == nil {
				r.setLeadership(l)
			}
		}
	}
}

// barrier waits until everything before it is applied.
func (r *Replica) barrier() *leadership {
	future := r.raft.Barrier(0)
	if err := future.Error(); err != nil {
		return nil
	}
	term := r.raft.CurrentTerm()
	if f, ok := future.(raft.IndexFuture); ok {
		r.mu.Lock()
		if r.st.index < f.Index() { // nothing of ours came after: remember for the next start
			r.st.index, r.st.term = f.Index(), term
		}
		r.mu.Unlock()
	}
	return &leadership{nodeID: r.cfg.NodeID, epoch: epochOf(term), serving: true}
}
