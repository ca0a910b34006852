package api

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// scram is the server's side of one log-in by SCRAM (RFC 5802 sections 5 and 7, without channel binding):
//
//	client first  n,[a=AUTHZID],n=USER,r=CNONCE[,extensions]
//	server first  r=NONCE,s=SALT,i=ITERATIONS            NONCE begins with CNONCE
//	client final  c=biws,r=NONCE[,extensions],p=PROOF
//	server final  v=SIGNATURE
//
// As in Kafka, the nonce of the client's final message is not compared: librdkafka before 2.3 sends CNONCE twice there. The proof covers
// the server's first message, whose nonce is fresh, so that nothing can be played back.
type scram struct {
	mechanism string
	keys      *state.Credential
	user      string
	gs2       string // the client's first message up to the part that is signed
	signed    string // of both first messages
	done      bool
}

// step takes a message of the client and returns the answer to it. The log-in has succeeded once done is set; every error is final.
func (s *scram) step(message string, keysOf func(user string) *state.Credential) (string, error) {
	if s.keys == nil {
		return s.first(message, keysOf)
	}
	return s.final(message)
}

func (s *scram) first(message string, keysOf func(string) *state.Credential) (string, error) {
	parts := strings.Split(message, ",")
	if len(parts) < 4 || parts[0] != "n" && parts[0] != "y" {
		return "", fmt.Errorf("%w: no first message of SCRAM without channel binding", errLogin)
	}
	name, named := strings.CutPrefix(parts[2], "n=")
	nonce, fresh := strings.CutPrefix(parts[3], "r=")
	user, ok := unescape(name)
	if !named || !fresh || !ok || user == "" || nonce == "" {
		return "", fmt.Errorf("%w: no name and nonce in the first message of SCRAM", errLogin)
	}
	if parts[1] != "" {
		as, given := strings.CutPrefix(parts[1], "a=")
		if as, ok := unescape(as); !given || !ok || as != user {
			return "", fmt.Errorf("%w: %q asked to be somebody else", errLogin, user)
		}
	}
	s.user, s.keys = user, keysOf(user)
	s.gs2 = parts[0] + "," + parts[1] + ","
	answer := fmt.Sprintf("r=%s%s,s=%s,i=%d", nonce, rand.Text(), base64.StdEncoding.EncodeToString(s.keys.Salt), s.keys.Iterations)
	s.signed = strings.TrimPrefix(message, s.gs2) + "," + answer
	return answer, nil
}

func (s *scram) final(message string) (string, error) {
	at := strings.LastIndex(message, ",p=")
	if at < 0 {
		return "", fmt.Errorf("%w: no proof in the final message of SCRAM", errLogin)
	}
	proof, err := base64.StdEncoding.DecodeString(message[at+len(",p="):])
	binding, _, _ := strings.Cut(message, ",")
	newHash, size := hashOf(s.mechanism)
	if err != nil || len(proof) != size || binding != "c="+base64.StdEncoding.EncodeToString([]byte(s.gs2)) {
		return "", fmt.Errorf("%w: no final message of SCRAM", errLogin)
	}
	signed := s.signed + "," + message[:at]
	sign := func(key []byte) []byte {
		mac := hmac.New(newHash, key)
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
	clientKey := bytes.Clone(proof)
	subtle.XORBytes(clientKey, proof, sign(s.keys.StoredKey))
	sum := newHash()
	sum.Write(clientKey)
	if subtle.ConstantTimeCompare(sum.Sum(nil), s.keys.StoredKey) != 1 {
		return "", errLogin
	}
	s.done = true
	return "v=" + base64.StdEncoding.EncodeToString(sign(s.keys.ServerKey)), nil
}

// unescape reads a name in which a comma is =2C and an equals sign =3D; nothing else begins with one.
func unescape(name string) (string, bool) {
	plain := strings.NewReplacer("=2C", ",", "=3D", "=").Replace(name)
	return plain, strings.Count(name, "=") == strings.Count(name, "=2C")+strings.Count(name, "=3D")
}
