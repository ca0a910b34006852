package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync/atomic"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// TokenPrefix begins every API token, so that scanners for leaked secrets find them.
const TokenPrefix = "weir_"

// NewToken draws an API token. The token goes to its owner, the hash into the cluster state.
func NewToken() (token string, hash [32]byte) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
	return token, HashToken(token)
}

// HashToken returns the hash under which the cluster state keeps a token.
func HashToken(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// tokenIndex finds tokens by hash. It is rebuilt when the cluster state has another version; readers never wait.
type tokenIndex struct {
	current atomic.Pointer[tokensOfVersion]
}

type tokensOfVersion struct {
	version uint64
	byHash  map[[32]byte]state.Token
}

func (x *tokenIndex) find(st *state.State, token string) (state.Token, bool) {
	if !strings.HasPrefix(token, TokenPrefix) {
		return state.Token{}, false
	}
	index := x.current.Load()
	if index == nil || index.version != st.Version {
		index = &tokensOfVersion{version: st.Version, byHash: make(map[[32]byte]state.Token, len(st.Tokens))}
		for _, t := range st.Tokens {
			index.byHash[t.SecretHash] = t
		}
		x.current.Store(index)
	}
	// A map lookup by hash leaks at most bits of the hash by its timing, and those do not help to guess 256 random bits.
	found, ok := index.byHash[HashToken(token)]
	return found, ok
}
