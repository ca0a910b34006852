package api

import (
	"context"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Backend is what the handlers need from the node. All methods may be called from any goroutine.
type Backend interface {
	// View is what this node serves now. Never nil, immutable, cheap.
	View() *View
	// Changed is closed when the next View is published or a partition starts or stops to serve. Take it before View.
	Changed() <-chan struct{}
	// CreateTopic returns after the topic is agreed on; it is in View a moment later. Errors as in raftfsm.
	CreateTopic(ctx context.Context, spec state.TopicSpec) (state.Topic, error)
	DeleteTopic(ctx context.Context, name string) error
	AddPartitions(ctx context.Context, name string, total int32) error
	SetTopicConfigs(ctx context.Context, name string, configs map[string]string) error
	// OffsetsTopic makes __consumer_offsets when it is missing, opens the partition of a group, and returns the node that leads it.
	OffsetsTopic(ctx context.Context, partition func(count int32) int32) (leader int32, err error)
	// TransactionsTopic is the same with __transaction_state and the partition of a transactional id.
	TransactionsTopic(ctx context.Context, partition func(count int32) int32) (leader int32, err error)
	// Controller is the node that takes changes of the cluster, -1 when it is not known.
	Controller() int32
	// WriteMarker ends a producer's transaction in a partition and returns once that is committed; errors as of txn.Markers.
	WriteMarker(ctx context.Context, topic string, partition int32, m record.Marker) error
	// Access is who may do what, and how much of it.
	Access() AccessStore
	// LogDirs says where the partitions are kept, and how these places are.
	LogDirs() []LogDir
}

// LogDir is a directory of partitions.
type LogDir struct {
	Path                    string
	Err                     error           // why it can't be used
	TotalBytes, UsableBytes int64           // of its disk, -1 when unknown
	Replicas                []LogDirReplica // in order of topic and partition, stopped ones too
}

// LogDirReplica is a partition in a LogDir.
type LogDirReplica struct {
	Topic     string
	Partition int32
	SizeBytes int64 // of a stopped partition as far as it can be found out
}

// AccessStore is what the cluster agrees on about Kafka clients. raftfsm.Controller is one. Changes are in State when they return.
type AccessStore interface {
	State() *state.State
	CreateACLs(ctx context.Context, acls []state.ACL) error
	DeleteACLs(ctx context.Context, acls []state.ACL) ([]state.ACL, error)
	SetCredential(ctx context.Context, user, mechanism string, keys state.Credential) error
	DeleteCredential(ctx context.Context, user, mechanism string) error
	AlterQuota(ctx context.Context, e state.QuotaEntity, set map[string]float64, remove []string) error
}

// View is the topics and brokers as this node serves them.
type View struct {
	ClusterID string
	NodeID    int32
	Brokers   []state.Broker // in order of id, registered ones only
	Topics    []*Topic       // in order of name
	ByName    map[string]*Topic
	ByID      map[[16]byte]*Topic
}

// Broker returns the broker with that id.
func (v *View) Broker(id int32) (state.Broker, bool) {
	for _, b := range v.Brokers {
		if b.ID == id {
			return b, true
		}
	}
	return state.Broker{}, false
}

// Topic is a topic with its partitions, in order of number.
type Topic struct {
	state.Topic
	Config     TopicConfig
	Partitions []Partition
}

// Partition finds a partition by number.
func (t *Topic) Partition(n int32) (Partition, bool) {
	if t == nil || n < 0 || int(n) >= len(t.Partitions) {
		return nil, false
	}
	return t.Partitions[n], true
}

// Partition is one partition as seen from this node. All methods may be called from any goroutine, also while the partition is
// being opened or after it was deleted: they answer replica.ErrNotReady then.
type Partition interface {
	// Append hands over one validated batch and owns it from here on. Results of one goroutine's calls keep their order.
	Append(ctx context.Context, batch []byte) Pending
	// AppendVerified is Append for a batch in a transaction. since is the high watermark from before it was found out that the producer
	// has a transaction here: the batch is refused when that one has ended since.
	AppendVerified(ctx context.Context, batch []byte, since int64) Pending
	// AppendMarker ends a producer's transaction and returns once that is committed; the same marker again is harmless.
	AppendMarker(ctx context.Context, m replica.Marker) error
	// Leader returns the leader and its epoch, -1 when unknown; serving means that this node leads and may answer.
	Leader() (nodeID, epoch int32, serving bool)
	// Phase says whether Leader may soon say more.
	Phase() Phase
	// Replicas are the nodes that have the partition, the one that should lead first, and those of them that have almost all of it.
	Replicas() (all, inSync []int32)
	// Open asks for a Closed partition to be opened and does not wait for it.
	Open()
	LogStart() int64
	HighWatermark() int64
	// LastStableOffset is the offset below which every transaction has ended; never above the high watermark if asked for before that.
	LastStableOffset() int64
	// Read returns whole batches below the high watermark, the first of which contains offset; at least one even when larger than
	// maxBytes. Empty at the high watermark. The bytes are the caller's, who may give them to record.Recycle.
	Read(offset int64, maxBytes int) ([]byte, error)
	// ReadBelow is Read up to a lower limit, a last stable offset; from there on it returns nothing.
	ReadBelow(offset int64, maxBytes int, limit int64) ([]byte, error)
	// AbortedIn returns the aborted transactions with records in [from, to), all of them up to the last stable offset.
	AbortedIn(from, to int64) ([]replica.Aborted, error)
	// OpenTxn says whether a producer has a transaction open here in that epoch, counting what is on its way.
	OpenTxn(producerID int64, epoch int16) bool
	// Producers lists the producers that are known, in no order.
	Producers() []replica.ProducerInfo
	OffsetForTime(ms int64) (offset, timestampMs int64, ok bool, err error)
	MaxTimestamp() (offset, timestampMs int64, ok bool, err error)
	EpochEnd(epoch int32) (foundEpoch int32, endOffset int64)
	SetLogStart(ctx context.Context, offset int64) (int64, error)
	SizeBytes() int64
	// Watch sends to wake, without waiting, when the high watermark, the log start or the leadership has changed, or the partition was
	// closed. stop ends it. wake should have room for one.
	Watch(wake chan<- struct{}) (stop func())
}

// Pending is an append on its way. Result may be called once Done is closed.
type Pending interface {
	Done() <-chan struct{}
	Result() (replica.Appended, error)
}

// Phase is how far a partition is on this node.
type Phase int

// The phases of a partition.
const (
	Closed  Phase = iota // opened when first needed
	Opening              // serves soon
	Serving
	Following // another node leads
	Failed    // stopped after an error of its disk
	Gone      // deleted, or the node stops
)
