package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/auth"
	"github.com/weir-analytics/weir/web/stats"
)

// Controller makes the changes. Each method returns once the change is committed and visible in State; errors are those of
// raftfsm/state, raftfsm.ErrUnavailable (not done) and raftfsm.ErrOutcomeUnknown. All methods may be called from several goroutines.
type Controller interface {
	State() *state.State
	AddSite(ctx context.Context, name, timezone string) (state.Site, error)
	UpdateSite(ctx context.Context, name string, to raftfsm.SiteChange) (state.Site, error)
	DeleteSite(ctx context.Context, name string) error
	PutLinks(ctx context.Context, links []command.Link, replace bool) ([]state.Link, error)
	DeleteLink(ctx context.Context, domain, slug string) error
	AddUser(ctx context.Context, email string, role state.Role, passwordHash string) (state.User, error)
	SetPassword(ctx context.Context, email, passwordHash string) error
	DeleteUser(ctx context.Context, email string) error
	AddToken(ctx context.Context, name string, scopes []state.Scope, secretHash [32]byte) (state.Token, error)
	DeleteToken(ctx context.Context, id uint64) error
}

// Rollup is what the counts beside a site come from, and what is waited for after an import.
type Rollup interface {
	stats.Rollup
	// WaitFor returns once the counts hold every record of topic events below the given offset of each partition.
	WaitFor(ctx context.Context, offsets map[int32]int64) error
}

// Admin answers the routes of this package.
type Admin struct {
	ctl      Controller
	rollup   Rollup
	importer Importer
	hasher   *auth.Hasher
	status   func() Status
	diagnose func(*http.Request, DiagnoseQuestion) any
	credits  func() []Attribution
	stopping <-chan struct{}
	imports  chan struct{} // one per import under way
	log      *slog.Logger
}

// Config is what New needs.
type Config struct {
	Controller  Controller
	Rollup      Rollup
	Importer    Importer
	Hasher      *auth.Hasher
	Status      func() Status
	Diagnose    func(*http.Request, DiagnoseQuestion) any // what would be recorded of a request; a JSON document
	Attribution func() []Attribution
	Stopping    <-chan struct{} // closed when the node stops: imports end then
	Log         *slog.Logger
}

// New returns an Admin.
func New(cfg Config) *Admin {
	return &Admin{ctl: cfg.Controller, rollup: cfg.Rollup, importer: cfg.Importer, hasher: cfg.Hasher, status: cfg.Status, diagnose: cfg.Diagnose, credits: cfg.Attribution,
		stopping: cfg.Stopping, imports: make(chan struct{}, maxImports), log: cfg.Log}
}

// Status is what a node says about itself. What is about the machine is left out for callers who are not administrators.
type Status struct {
	Version   string            `json:"version"`
	Commit    string            `json:"commit,omitempty"`
	StartedAt time.Time         `json:"started_at"`
	NodeID    int32             `json:"node_id"`
	ClusterID string            `json:"cluster_id"`
	GeoIP     GeoIP             `json:"geoip"`     // of countries and cities
	GeoIPASN  GeoIP             `json:"geoip_asn"` // of autonomous systems
	DataDir   string            `json:"data_dir,omitempty"`
	Listeners map[string]string `json:"listeners,omitempty"` // by protocol
}

// GeoIP says where what is known of addresses comes from.
type GeoIP struct {
	Source string    `json:"source"`          // a file, the built-in database, or "none"
	Type   string    `json:"type,omitempty"`  // as the database says
	Built  time.Time `json:"built,omitzero"`  // when its maker built it
	Old    bool      `json:"old,omitempty"`   // built more than 400 days ago
	Error  string    `json:"error,omitempty"` // why there is no database, or why a newer file was not taken
}

// Attribution names somebody whose data is shown.
type Attribution struct {
	Text    string `json:"text"`
	URL     string `json:"url"`
	Licence string `json:"licence"`
}
