package peer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// ErrTryAgain is returned by Join when the member was not reached or is not ready: the same request may succeed later.
var ErrTryAgain = errors.New("try again in a moment")

// JoinRequest asks to become a node of a cluster.
type JoinRequest struct {
	Secret  []byte `json:"secret"` // of the token
	Server  string `json:"server"` // id of the node's data
	NodeID  int32  `json:"node_id,omitempty"`
	Address string `json:"address"`           // where peers reach it
	Request []byte `json:"request,omitempty"` // for a certificate, PKCS #10; none when it has one of an operator's authority
}

// JoinAnswer makes a node a member.
type JoinAnswer struct {
	Cluster   string            `json:"cluster"`
	NodeID    int32             `json:"node_id"`
	CA        []byte            `json:"ca,omitempty"`   // PEM
	Cert      []byte            `json:"cert,omitempty"` // PEM
	Addresses map[string]string `json:"addresses"`      // of the members, by server id
}

// Token lets nodes join. It is a secret.
type Token struct {
	CAHash [32]byte // by which the node knows the cluster's authority
	Secret [16]byte
}

const tokenPrefix = "weirjoin_"

// NewToken draws the secret of a token.
func NewToken(caHash [32]byte) Token {
	t := Token{CAHash: caHash}
	rand.Read(t.Secret[:])
	return t
}

// Text is how the token is typed.
func (t Token) Text() string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(t.CAHash[:], t.Secret[:]...))
}

// String hides the token.
func (t Token) String() string { return tokenPrefix + "..." }

// ParseToken reads what was typed.
func ParseToken(text string) (t Token, err error) {
	body, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	b, decodeErr := base64.RawURLEncoding.DecodeString(body)
	if !ok || decodeErr != nil || len(b) != len(t.CAHash)+len(t.Secret) {
		return t, errors.New("that is no token for joining; make one on a node of the cluster with: weir cluster token")
	}
	copy(t.CAHash[:], b)
	copy(t.Secret[:], b[len(t.CAHash):])
	return t, nil
}

// JoinConfig is what Join needs.
type JoinConfig struct {
	Dir       string // where the keys are put
	Address   string // of any member
	Token     Token
	Own       *Keys // of an operator's authority; nil: the cluster's own vouches for the node
	Server    string
	NodeID    int32  // 0: the cluster chooses
	Advertise string // where peers reach this node
}

// joinWait bounds one try to join: the cluster agrees on it meanwhile.
const joinWait = 30 * time.Second

// Join asks a member to take this node in. When it returns without an error the keys are in Dir. The same request may be made again: a node
// that is a member already gets the same answer.
func Join(ctx context.Context, cfg JoinConfig) (JoinAnswer, error) {
	q := JoinRequest{Secret: cfg.Token.Secret[:], Server: cfg.Server, NodeID: cfg.NodeID, Address: cfg.Advertise}
	var key []byte
	var err error
	if cfg.Own == nil {
		if q.Request, key, err = certRequest(cfg.Server); err != nil {
			return JoinAnswer{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, joinWait)
	defer cancel()
	a, err := ask(ctx, cfg, q)
	if err != nil {
		return a, fmt.Errorf("join through %s: %w", cfg.Address, err)
	}
	if cfg.Own == nil {
		err = writeFiles(cfg.Dir, file{caFile, a.CA}, file{keyFile, key}, file{certFile, a.Cert})
	}
	return a, err
}

func ask(ctx context.Context, cfg JoinConfig, q JoinRequest) (JoinAnswer, error) {
	bare, err := (&net.Dialer{}).DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return JoinAnswer{}, fmt.Errorf("%w: %w", ErrTryAgain, err)
	}
	defer bare.Close()
	deadline, _ := ctx.Deadline()
	if err := bare.SetDeadline(deadline); err != nil {
		return JoinAnswer{}, err
	}
	nc := tls.Client(bare, joinTLS(cfg))
	if err := nc.HandshakeContext(ctx); err != nil {
		return JoinAnswer{}, err
	}
	if err := writeHello(nc, hello{Use: useJoin, Join: &q}); err != nil {
		return JoinAnswer{}, err
	}
	h, err := readHello(nc)
	if err == nil && h.Joined == nil && h.Later {
		err = ErrTryAgain
	}
	if err == nil && h.Joined == nil {
		err = fmt.Errorf("%w: no answer to a request to join", errMessage)
	}
	if err != nil {
		return JoinAnswer{}, err
	}
	return *h.Joined, nil
}

// joinTLS believes whom the authority vouches for that the token names, or an operator's.
func joinTLS(cfg JoinConfig) *tls.Config {
	if cfg.Own != nil {
		return cfg.Own.client("", cfg.Address)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it: the authority is known by its hash, and the member's name is not known
		VerifyConnection: func(s tls.ConnectionState) error {
			pool := x509.NewCertPool()
			for _, c := range s.PeerCertificates {
				if sha256.Sum256(c.Raw) == cfg.Token.CAHash {
					pool.AddCert(c)
				}
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			if err != nil {
				return fmt.Errorf("it is no member of the cluster that the token is of: %w", err)
			}
			return nil
		},
	}
}

func certRequest(server string) (request, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make this node's key: %w", err)
	}
	request, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: server}}, private)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for a certificate: %w", err)
	}
	key, err = keyPEM(private)
	return request, key, err
}

// answerJoin lets the cluster decide about a node.
func (n *Node) answerJoin(nc net.Conn, q *JoinRequest) {
	n.mu.Lock()
	admit := n.admit
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(n.ctx, joinWait)
	defer cancel()
	var a JoinAnswer
	var err error
	out := hello{Joined: &a}
	if admit == nil {
		out = hello{Later: true}
	} else if a, err = admit(ctx, *q); errors.Is(err, ErrTryAgain) {
		out = hello{Later: true}
	} else if err != nil {
		n.cfg.Log.Warn("a node may not join", "peer", nc.RemoteAddr().String(), "err", err)
		out = hello{Error: err.Error()}
	}
	if nc.SetDeadline(time.Now().Add(helloWait)) == nil {
		_ = writeHello(nc, out) // it tries again
	}
}
