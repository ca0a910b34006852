package command

import "time"

// SetAuthority gives the cluster what vouches for its nodes. It is set once.
type SetAuthority struct {
	Cert []byte `json:"cert"` // PEM
	Key  []byte `json:"key"`  // PEM
}

// AddJoinToken lets nodes join that know a secret, of which this is the SHA-256.
type AddJoinToken struct {
	SecretHash [32]byte  `json:"secret_hash"`
	Expires    time.Time `json:"expires"`
}

// JoinNode makes a node a member. NodeID 0 takes the next one that is free.
type JoinNode struct {
	SecretHash [32]byte `json:"secret_hash"`
	NodeID     int32    `json:"node_id,omitempty"`
	ServerID   string   `json:"server_id"`
	Peer       string   `json:"peer"` // HOST:PORT
}

// RemoveNode ends the membership of a node for ever: its number is not given again.
type RemoveNode struct {
	ID int32 `json:"id"`
}

// AssignReplicas says on which nodes partitions are to be.
type AssignReplicas struct {
	Moves []Move `json:"moves"`
}

// Move is where one partition is to be; the first node is the one that should lead it.
type Move struct {
	TopicID   [16]byte `json:"topic_id"`
	Partition int32    `json:"partition"`
	Replicas  []int32  `json:"replicas"`
}

// OpenPartitions says that partitions of a topic that opens them when they are needed are open from now on.
type OpenPartitions struct {
	TopicID    [16]byte `json:"topic_id"`
	Partitions []int32  `json:"partitions"`
}
