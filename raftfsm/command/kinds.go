package command

// The kinds. Add at the end; a number that was used once keeps its meaning for ever.
const (
	KindInitCluster Kind = iota + 1
	KindRegisterBroker
	KindCreateTopic
	KindDeleteTopic
	KindAddSite
	KindUpdateSite
	KindDeleteSite
	KindAddUser
	KindSetPassword
	KindDeleteUser
	KindAddToken
	KindDeleteToken
	KindAllocateProducerIDs
	KindAgreeSalts
	KindCompleteSetup
	KindSetTopicConfigs
	KindAddPartitions
	KindCreateACLs
	KindDeleteACLs
	KindSetCredential
	KindDeleteCredential
	KindAlterQuota
	KindPutLinks
	KindDeleteLink
	KindSetAuthority
	KindAddJoinToken
	KindJoinNode
	KindRemoveNode
	KindAssignReplicas
	KindOpenPartitions
)

var kinds = map[Kind]func([]byte) (Command, error){
	KindInitCluster:         body[InitCluster],
	KindRegisterBroker:      body[RegisterBroker],
	KindCreateTopic:         body[CreateTopic],
	KindDeleteTopic:         body[DeleteTopic],
	KindAddSite:             body[AddSite],
	KindUpdateSite:          body[UpdateSite],
	KindDeleteSite:          body[DeleteSite],
	KindAddUser:             body[AddUser],
	KindSetPassword:         body[SetPassword],
	KindDeleteUser:          body[DeleteUser],
	KindAddToken:            body[AddToken],
	KindDeleteToken:         body[DeleteToken],
	KindAllocateProducerIDs: body[AllocateProducerIDs],
	KindAgreeSalts:          body[AgreeSalts],
	KindCompleteSetup:       body[CompleteSetup],
	KindSetTopicConfigs:     body[SetTopicConfigs],
	KindAddPartitions:       body[AddPartitions],
	KindCreateACLs:          body[CreateACLs],
	KindDeleteACLs:          body[DeleteACLs],
	KindSetCredential:       body[SetCredential],
	KindDeleteCredential:    body[DeleteCredential],
	KindAlterQuota:          body[AlterQuota],
	KindPutLinks:            body[PutLinks],
	KindDeleteLink:          body[DeleteLink],
	KindSetAuthority:        body[SetAuthority],
	KindAddJoinToken:        body[AddJoinToken],
	KindJoinNode:            body[JoinNode],
	KindRemoveNode:          body[RemoveNode],
	KindAssignReplicas:      body[AssignReplicas],
	KindOpenPartitions:      body[OpenPartitions],
}

// InitCluster is the first command of a cluster. The keys are drawn once and never change.
type InitCluster struct {
	ClusterID string   `json:"cluster_id"`
	RouteKey  [16]byte `json:"route_key"`
	ImportKey [32]byte `json:"import_key"`
}

// RegisterBroker says where clients reach a node: at Host and Port through its first listener, at the others as Listeners says.
type RegisterBroker struct {
	ID        int32      `json:"id"`
	ServerID  string     `json:"server_id"`
	Host      string     `json:"host"`
	Port      int32      `json:"port"`
	Listeners []Listener `json:"listeners,omitempty"`
	Peer      string     `json:"peer,omitempty"` // HOST:PORT for other nodes; empty: it has no peers
}

// Listener is the advertised address of one listener.
type Listener struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// CreateTopic adds a topic whose ID the proposer drew.
type CreateTopic struct {
	Name              string            `json:"name"`
	ID                [16]byte          `json:"id"`
	Partitions        int32             `json:"partitions"`
	ReplicationFactor int16             `json:"replication_factor"`
	Configs           map[string]string `json:"configs,omitempty"`
	Internal          bool              `json:"internal,omitempty"`
	Replicas          [][]int32         `json:"replicas,omitempty"` // nodes of each partition; none: the first node of the cluster has all
}

// DeleteTopic removes a topic by name.
type DeleteTopic struct {
	Name string `json:"name"`
}

// SetTopicConfigs replaces all configuration of a topic.
type SetTopicConfigs struct {
	Name    string            `json:"name"`
	Configs map[string]string `json:"configs,omitempty"`
}

// AddPartitions raises the number of partitions of a topic to Total.
type AddPartitions struct {
	Name     string    `json:"name"`
	Total    int32     `json:"total"`
	Replicas [][]int32 `json:"replicas,omitempty"` // nodes of each added partition
}

// Salts maps days (2006-01-02) to keys.
type Salts map[string][16]byte

// AddSite adds a site, together with the salts of those of its days that are not agreed on yet.
type AddSite struct {
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
	Salts    Salts  `json:"salts,omitempty"`
}

// UpdateSite changes what is not nil.
type UpdateSite struct {
	Name     string  `json:"name"`
	NewName  *string `json:"new_name,omitempty"`
	Timezone *string `json:"timezone,omitempty"`
	Salts    Salts   `json:"salts,omitempty"`
	Rules    *Rules  `json:"rules,omitempty"` // all of them: what is empty in it is taken away
}

// DeleteSite removes a site by name.
type DeleteSite struct {
	Name string `json:"name"`
}

// AddUser adds a user whose password is hashed already.
type AddUser struct {
	Email        string `json:"email"`
	Role         string `json:"role"`
	PasswordHash string `json:"password_hash"`
}

// SetPassword replaces the password hash of a user.
type SetPassword struct {
	Email        string `json:"email"`
	PasswordHash string `json:"password_hash"`
}

// DeleteUser removes a user.
type DeleteUser struct {
	Email string `json:"email"`
}

// AddToken adds an API token by the hash of its secret.
type AddToken struct {
	Name       string   `json:"name"`
	Scopes     []string `json:"scopes"`
	SecretHash [32]byte `json:"secret_hash"`
}

// DeleteToken removes a token.
type DeleteToken struct {
	ID uint64 `json:"id"`
}

// AllocateProducerIDs takes Count consecutive producer ids out of the number space.
type AllocateProducerIDs struct {
	Count int64 `json:"count"`
}

// AgreeSalts adds the salts of coming days and erases those of days that are over.
type AgreeSalts struct {
	Add   Salts    `json:"add,omitempty"`
	Erase []string `json:"erase,omitempty"`
}

// CompleteSetup adds the first administrator and the first site in one step. It is refused once any user exists.
type CompleteSetup struct {
	User AddUser `json:"user"`
	Site AddSite `json:"site"`
}

// ACL allows or denies a principal an operation. The words are Kafka's, in lower case.
type ACL struct {
	Resource   string `json:"resource"` // topic, group, cluster, transactional_id
	Name       string `json:"name"`
	Pattern    string `json:"pattern"` // literal, prefixed
	Principal  string `json:"principal"`
	Host       string `json:"host"`
	Operation  string `json:"operation"`
	Permission string `json:"permission"` // allow, deny
}

// CreateACLs adds those that are not there.
type CreateACLs struct {
	ACLs []ACL `json:"acls"`
}

// DeleteACLs removes those that are there.
type DeleteACLs struct {
	ACLs []ACL `json:"acls"`
}

// SetCredential adds or replaces what proves a password to one mechanism. The password is not in it.
type SetCredential struct {
	User       string `json:"user"`
	Mechanism  string `json:"mechanism"` // SCRAM-SHA-256, SCRAM-SHA-512
	Salt       []byte `json:"salt"`
	Iterations int32  `json:"iterations"`
	StoredKey  []byte `json:"stored_key"`
	ServerKey  []byte `json:"server_key"`
}

// DeleteCredential removes a user's credential of one mechanism.
type DeleteCredential struct {
	User      string `json:"user"`
	Mechanism string `json:"mechanism"`
}

// AlterQuota sets and removes limits of a user, a client id, or both. nil leaves the part out, "" means all that have no limit of their own.
type AlterQuota struct {
	User     *string            `json:"user,omitempty"`
	ClientID *string            `json:"client_id,omitempty"`
	Set      map[string]float64 `json:"set,omitempty"`
	Remove   []string           `json:"remove,omitempty"`
}

func (InitCluster) Kind() Kind         { return KindInitCluster }
func (RegisterBroker) Kind() Kind      { return KindRegisterBroker }
func (CreateTopic) Kind() Kind         { return KindCreateTopic }
func (DeleteTopic) Kind() Kind         { return KindDeleteTopic }
func (AddSite) Kind() Kind             { return KindAddSite }
func (UpdateSite) Kind() Kind          { return KindUpdateSite }
func (DeleteSite) Kind() Kind          { return KindDeleteSite }
func (AddUser) Kind() Kind             { return KindAddUser }
func (SetPassword) Kind() Kind         { return KindSetPassword }
func (DeleteUser) Kind() Kind          { return KindDeleteUser }
func (AddToken) Kind() Kind            { return KindAddToken }
func (DeleteToken) Kind() Kind         { return KindDeleteToken }
func (AllocateProducerIDs) Kind() Kind { return KindAllocateProducerIDs }
func (AgreeSalts) Kind() Kind          { return KindAgreeSalts }
func (CompleteSetup) Kind() Kind       { return KindCompleteSetup }
func (SetTopicConfigs) Kind() Kind     { return KindSetTopicConfigs }
func (AddPartitions) Kind() Kind       { return KindAddPartitions }
func (CreateACLs) Kind() Kind          { return KindCreateACLs }
func (DeleteACLs) Kind() Kind          { return KindDeleteACLs }
func (SetCredential) Kind() Kind       { return KindSetCredential }
func (DeleteCredential) Kind() Kind    { return KindDeleteCredential }
func (AlterQuota) Kind() Kind          { return KindAlterQuota }
func (PutLinks) Kind() Kind            { return KindPutLinks }
func (DeleteLink) Kind() Kind          { return KindDeleteLink }
func (SetAuthority) Kind() Kind        { return KindSetAuthority }
func (AddJoinToken) Kind() Kind        { return KindAddJoinToken }
func (JoinNode) Kind() Kind            { return KindJoinNode }
func (RemoveNode) Kind() Kind          { return KindRemoveNode }
func (AssignReplicas) Kind() Kind      { return KindAssignReplicas }
func (OpenPartitions) Kind() Kind      { return KindOpenPartitions }
