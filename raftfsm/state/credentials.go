package state

import (
	"github.com/weir-analytics/weir/raftfsm/command"
)

// Mechanisms of Kafka log-ins that have a credential of their own. PLAIN is checked against either.
const (
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// Credentials is what proves that somebody knows a Kafka user's password. It holds salted keys only (RFC 5802), never the password.
type Credentials struct {
	SHA256 *Credential `json:"sha256,omitempty"`
	SHA512 *Credential `json:"sha512,omitempty"`
}

// Credential is what SCRAM keeps of a password for one hash.
type Credential struct {
	Salt       []byte `json:"salt"`
	Iterations int32  `json:"iterations"`
	StoredKey  []byte `json:"stored_key"`
	ServerKey  []byte `json:"server_key"`
}

// Of returns the credential of a mechanism, nil when there is none.
func (c Credentials) Of(mechanism string) *Credential {
	switch mechanism {
	case ScramSHA256:
		return c.SHA256
	case ScramSHA512:
		return c.SHA512
	}
	return nil
}

// Bounds of credentials.
const (
	MinIterations = 4096    // RFC 7677; Kafka's least
	MaxIterations = 16_384  // Kafka's most: one log-in by PLAIN costs as many rounds here
	maxUser       = 256     // bytes, a guess
	maxSalt       = 1 << 10 // bytes, a guess; clients draw 16 to 32
	maxUsers      = 100_000 // a guess
)

func (s *State) setCredential(cmd command.SetCredential) (any, error) {
	size := map[string]int{ScramSHA256: 32, ScramSHA512: 64}[cmd.Mechanism]
	_, known := s.Credentials[cmd.User]
	switch {
	case cmd.User == "" || len(cmd.User) > maxUser:
		return nil, invalid("user", "%d bytes, 1 to %d are allowed", len(cmd.User), maxUser)
	case size == 0:
		return nil, invalid("mechanism", "%q is none: %s or %s", cmd.Mechanism, ScramSHA256, ScramSHA512)
	case cmd.Iterations < MinIterations || cmd.Iterations > MaxIterations:
		return nil, invalid("iterations", "%d, %d to %d are allowed", cmd.Iterations, MinIterations, MaxIterations)
	case len(cmd.Salt) == 0 || len(cmd.Salt) > maxSalt:
		return nil, invalid("salt", "%d bytes, 1 to %d are allowed", len(cmd.Salt), maxSalt)
	case len(cmd.StoredKey) != size || len(cmd.ServerKey) != size:
		return nil, invalid("keys", "%d and %d bytes, %s has %d", len(cmd.StoredKey), len(cmd.ServerKey), cmd.Mechanism, size)
	case !known && len(s.Credentials) >= maxUsers:
		return nil, invalid("user", "there are %d already, the most that are allowed", maxUsers)
	}
	all := s.Credentials[cmd.User]
	keys := &Credential{Salt: cmd.Salt, Iterations: cmd.Iterations, StoredKey: cmd.StoredKey, ServerKey: cmd.ServerKey}
	if cmd.Mechanism == ScramSHA256 {
		all.SHA256 = keys
	} else {
		all.SHA512 = keys
	}
	s.Credentials = with(s.Credentials, cmd.User, all)
	return nil, nil
}

func (s *State) deleteCredential(cmd command.DeleteCredential) (any, error) {
	all := s.Credentials[cmd.User]
	if all.Of(cmd.Mechanism) == nil {
		return nil, notFound("credential", cmd.User)
	}
	if cmd.Mechanism == ScramSHA256 {
		all.SHA256 = nil
	} else {
		all.SHA512 = nil
	}
	if all == (Credentials{}) {
		s.Credentials = without(s.Credentials, cmd.User)
	} else {
		s.Credentials = with(s.Credentials, cmd.User, all)
	}
	return nil, nil
}
