package ingest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// pathHooks is the beginning of the addresses that services call by themselves.
const pathHooks = "/hooks/"

const tokenAdvice = "needs a token that may send hits: make one with \"weir token add NAME --scope ingest\" and send it as \"Authorization: Bearer TOKEN\""

// mayGiveAddresses reports whether a sender's word on addresses and times of others is taken: from this machine, or with a token.
func (i *Ingest) mayGiveAddresses(r *http.Request, client clientip.Client) (refusal, bool) {
	header := r.Header.Get("Authorization")
	if header == "" && strings.HasPrefix(r.URL.Path, pathHooks) {
		// Services that call a hook cannot send a header of one's own: the token is in the address they are given.
		if token := r.URL.Query().Get("token"); token != "" {
			header = "Bearer " + token
		}
	}
	if header == "" {
		if client.Direct() && r.Header["Origin"] == nil { // a page in a browser on this machine is not a program of this machine
			return refusal{}, true
		}
		return refusal{http.StatusUnauthorized, "authorization", tokenAdvice, reasonUnauthorized, 0}, false
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || !holdsScope(i.cfg.Sites.State(), strings.TrimSpace(token)) {
		return refusal{http.StatusUnauthorized, "authorization", "token is not known, or has no scope ingest; this " + tokenAdvice, reasonUnauthorized, 0}, false
	}
	return refusal{}, true
}

// holdsScope reports whether a token of the cluster may send hits.
func holdsScope(s *state.State, secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	for _, token := range s.Tokens {
		if subtle.ConstantTimeCompare(sum[:], token.SecretHash[:]) == 1 {
			return slices.Contains(token.Scopes, state.ScopeIngest) || slices.Contains(token.Scopes, state.ScopeAdmin)
		}
	}
	return false
}
