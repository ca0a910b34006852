package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/web/reply"
)

// Cluster is what can be asked of and done to the nodes of the cluster.
type Cluster struct {
	// Status says how the nodes are, as a document for JSON.
	Status func() any
	// AddToken makes a token with which nodes join for so long.
	AddToken func(ctx context.Context, holds time.Duration) (string, error)
	// RemoveNode ends the membership of a node.
	RemoveNode func(ctx context.Context, id int32) error
}

const (
	joinTokenHolds = 24 * time.Hour
	// maxJoinToken bounds how long a token may hold. A guess: whoever finds it may join.
	maxJoinToken = 30 * 24 * time.Hour
)

// cluster answers GET /cluster.
func (s *Server) cluster(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Cluster == nil {
		reply.Fail(w, r, s.log, errOtherLog)
		return
	}
	reply.JSON(w, http.StatusOK, s.cfg.Cluster.Status())
}

// addJoinToken answers POST /cluster/tokens.
func (s *Server) addJoinToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Seconds int64 `json:"seconds"`
	}
	var err error = errOtherLog
	if s.cfg.Cluster != nil {
		err = reply.Decode(r, &in)
	}
	holds := time.Duration(in.Seconds) * time.Second
	if err == nil && in.Seconds == 0 {
		holds = joinTokenHolds
	}
	if err == nil && (in.Seconds < 0 || in.Seconds > int64(maxJoinToken/time.Second)) {
		err = reply.Invalid("seconds", "%d, 1 to %d are allowed", in.Seconds, int64(maxJoinToken/time.Second))
	}
	var token string
	if err == nil {
		token, err = s.cfg.Cluster.AddToken(r.Context(), holds)
	}
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	reply.JSON(w, http.StatusCreated, struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires"`
	}{token, s.cfg.Now().Add(holds).UTC().Truncate(time.Second)})
}

// removeNode answers DELETE /cluster/nodes/{id}.
func (s *Server) removeNode(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 32)
	if s.cfg.Cluster == nil {
		err = errOtherLog
	} else if err != nil {
		err = reply.Invalid("id", "%.80q is not the number of a node", chi.URLParam(r, "id"))
	} else {
		err = s.cfg.Cluster.RemoveNode(r.Context(), int32(id))
	}
	if err != nil {
		reply.Fail(w, r, s.log, err)
		return
	}
	reply.NoContent(w)
}
