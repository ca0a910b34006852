package state

import (
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// SiteID numbers a site. Numbers are never reused, so a site that is deleted and added again under its old name is another site.
type SiteID = uint32

// Day is a calendar day in some site's zone, written 2006-01-02.
type Day string

// State is one immutable version of the cluster state. Do not change anything reached from it.
type State struct {
	// Version grows by at least one with every change.
	Version   uint64 `json:"version"`
	ClusterID string `json:"cluster_id"`

	Brokers map[int32]Broker  `json:"brokers"`
	Topics  map[string]Topic  `json:"topics"` // by name
	Sites   map[SiteID]Site   `json:"sites"`
	Users   map[string]User   `json:"users"`  // by lower-case e-mail address
	Tokens  map[uint64]Token  `json:"tokens"` // by id
	Salts   map[Day]Salt      `json:"salts"`
	byName  map[string]SiteID // site names, lower case; rebuilt after every change

	ACLs        []ACL                  `json:"acls,omitempty"`        // in order of adding, none twice
	Credentials map[string]Credentials `json:"credentials,omitempty"` // by name of the Kafka user, never empty ones
	Quotas      []Quota                `json:"quotas,omitempty"`      // in order of their entities, none twice

	Links map[LinkKey]Link `json:"links,omitempty"` // bounded by MaxLinks

	// RouteKey keys the hash that sends one visitor's hits to one partition. It never rotates; only the partition number is kept.
	RouteKey [16]byte `json:"route_key"`
	// ImportKey is the secret from which the salts of days outside Salts are derived (imported history).
	ImportKey [32]byte `json:"import_key"`

	Nodes map[int32]Node `json:"nodes,omitempty"` // the members, by number
	// Founder is the node that began the cluster: partitions of which nothing else is said are there.
	Founder int32 `json:"founder,omitempty"`
	// RetiredNodes are numbers of nodes that were removed, in order.
	RetiredNodes []int32 `json:"retired_nodes,omitempty"`
	// JoinTokens say until when a secret lets nodes join, by its SHA-256 in hex.
	JoinTokens map[string]time.Time `json:"join_tokens,omitempty"`
	// Authority vouches for the nodes; nil while the cluster has one node that nobody joined, or when an operator's own does.
	Authority *Authority `json:"authority,omitempty"`

	NextSiteID     SiteID `json:"next_site_id"`
	NextTokenID    uint64 `json:"next_token_id"`
	NextProducerID int64  `json:"next_producer_id"`
}

// Broker is one node of the cluster.
type Broker struct {
	ID       int32  `json:"id"`
	ServerID string `json:"server_id"` // UUID and incarnation of the node's data
	Host     string `json:"host"`      // advertised address of the first Kafka listener
	Port     int32  `json:"port"`
	// Listeners are the advertised addresses by name of listener, the first one's too when there are several.
	Listeners []Listener `json:"listeners,omitempty"`
	Peer      string     `json:"peer,omitempty"` // HOST:PORT for other nodes
}

// Listener is the advertised address of one Kafka listener.
type Listener = command.Listener

// Address is where clients of the listener of that name reach the broker. A broker that has no such listener gives its first.
func (b Broker) Address(listener string) (host string, port int32) {
	for _, l := range b.Listeners {
		if l.Name == listener {
			return l.Host, l.Port
		}
	}
	return b.Host, b.Port
}

// TopicSpec asks for a topic.
type TopicSpec struct {
	Name              string             `json:"name"`
	Partitions        int32              `json:"partitions"`
	ReplicationFactor int16              `json:"replication_factor"` // -1 is automatic
	Configs           map[string]*string `json:"configs,omitempty"`  // Kafka's names; nil is the default
	Internal          bool               `json:"internal,omitempty"` // hidden from wildcard subscriptions, may not be deleted by clients
}

// Topic is a topic as created. ID never changes and is never reused.
type Topic struct {
	Name              string            `json:"name"`
	ID                [16]byte          `json:"id"`
	Partitions        int32             `json:"partitions"`
	ReplicationFactor int16             `json:"replication_factor"`
	Configs           map[string]string `json:"configs,omitempty"` // only what differs from the defaults
	Internal          bool              `json:"internal,omitempty"`
	CreatedAt         time.Time         `json:"created_at"`
	Placement         []Placement       `json:"placement,omitempty"` // by partition; see State.PlacementOf
}

// Site is what hits are counted for: a web site or a short-link domain.
type Site struct {
	ID         SiteID    `json:"id"`
	Name       string    `json:"name"`       // host name as in the snippet, lower case, without "www."
	Timezone   string    `json:"timezone"`   // IANA name
	Generation uint32    `json:"generation"` // grows when hour and day cells must be made anew
	CreatedAt  time.Time `json:"created_at"`
	Rules      *Rules    `json:"rules,omitempty"` // nil: none
}

// Rules say how the hits of a site are cleaned, and which are set apart.
type Rules = command.Rules

// Role says what a user may do. Each role may do all that the ones after it may.
type Role string

// Roles of users.
const (
	RoleAdmin  Role = "admin"  // everything
	RoleEditor Role = "editor" // sites and imports
	RoleViewer Role = "viewer" // read counts
)

// User is a person who logs in to the dashboard.
type User struct {
	Email        string    `json:"email"` // as typed, the map key is lower case
	Role         Role      `json:"role"`
	PasswordHash string    `json:"password_hash"` // argon2id in PHC form; never shown
	CreatedAt    time.Time `json:"created_at"`
}

// Scope says what a token may do.
type Scope string

// Scopes of tokens.
const (
	ScopeStats  Scope = "stats"  // read counts
	ScopeIngest Scope = "ingest" // send hits with addresses and times of its own
	ScopeAdmin  Scope = "admin"  // everything
)

// Token is an API token. Only the hash of its secret is kept.
type Token struct {
	ID         uint64    `json:"id"`
	Name       string    `json:"name"`
	Scopes     []Scope   `json:"scopes"`
	SecretHash [32]byte  `json:"secret_hash"` // SHA-256
	CreatedAt  time.Time `json:"created_at"`
}

// Salt keys the visitor ids of one day.
type Salt struct {
	Key [16]byte `json:"key"`
}

// Salt returns the salt of a day and whether one is agreed on. Days without one are history: derive theirs from ImportKey.
func (s *State) Salt(day Day) (Salt, bool) {
	salt, ok := s.Salts[day]
	return salt, ok
}

// SiteByName finds a site by its name in any case, with or without "www.".
func (s *State) SiteByName(name string) (Site, bool) {
	id, ok := s.byName[SiteKey(name)]
	if !ok {
		return Site{}, false
	}
	return s.Sites[id], true
}
