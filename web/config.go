package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/web/admin"
	"github.com/weir-analytics/weir/web/auth"
	"github.com/weir-analytics/weir/web/live"
)

// Controller is what web needs of the cluster state; raftfsm.Controller is one.
type Controller interface {
	auth.Controller
	admin.Controller
}

// Rollup is what web needs of the counts; rollup.Rollup is one.
type Rollup interface {
	live.Rollup
	admin.Rollup
}

// Names of types that other rooms fill in.
type (
	// Status is what a node says about itself.
	Status = admin.Status
	// DiagnoseQuestion asks what would become of a page view.
	DiagnoseQuestion = admin.DiagnoseQuestion
	// GeoIP says where countries come from.
	GeoIP = admin.GeoIP
	// Attribution names somebody whose data is shown.
	Attribution = admin.Attribution
	// Importer turns the lines of an access log into hits.
	Importer = admin.Importer
	// ImportRequest is one file.
	ImportRequest = admin.ImportRequest
	// ImportCounts says how far an import is.
	ImportCounts = admin.ImportCounts
	// ImportResult says what became of a file.
	ImportResult = admin.ImportResult
	// ImportExample is a rejected line.
	ImportExample = admin.ImportExample
)

// Registry is where metrics are registered and read from; prometheus.Registry is one.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Client is who sent a request, as far as the network tells.
type Client struct {
	Addr   netip.Addr // of the person or program; invalid when it is not known
	Direct bool       // from this machine without a proxy in between
}

// Config is what Open needs. Start from Default.
type Config struct {
	Listen   string // HOST:PORT of the TCP listener; port 0 takes a free one
	DataDir  string // holds the admin socket and the sessions
	MaxConns int    // open TCP connections, 1 to 1,000,000; more wait

	Controller Controller
	Rollup     Rollup
	Importer   Importer
	Collect    http.Handler // answers the routes that take hits in
	HitSchema  []byte       // what /schema/hit.proto answers
	Assets     fs.FS        // the built dashboard; nil when it is not in this binary
	Dev        bool         // read assets anew for each request

	CollectPaths []string                 // the routes that Collect answers, as patterns of chi
	TrackerFile  func(path string) string // the file of Assets that answers a path below /js/; "" for none

	// Started is closed once Controller shows what the cluster agreed on; until then the API answers 503. nil stands for one that is closed.
	Started     <-chan struct{}
	Checks      []Check
	Status      func() Status
	Diagnose    func(*http.Request, DiagnoseQuestion) any // what would be recorded of a request; a JSON document
	Attribution func() []Attribution
	// Kafka makes a connection to the log that may do everything. nil: the log is not of this node.
	Kafka func(ctx context.Context, host string) (net.Conn, error)
	// Cluster is what can be asked of and done to the nodes. nil: the log is not of this node.
	Cluster *Cluster
	// Received answers what partitions of the log have taken in, as a document for JSON. nil: the log is not of this node.
	Received func(ctx context.Context, q ReceivedQuery) (any, error)
	Client   func(*http.Request) Client // nil believes no header

	Registry Registry
	Now      func() time.Time
	Log      *slog.Logger
}

// Default returns a Config that lacks only the other rooms.
func Default() Config {
	return Config{
		Listen: ":8080", MaxConns: 10_000,
		CollectPaths: []string{"/api/event", "/api/clicks", "/p.gif"},
		TrackerFile:  func(path string) string { return strings.TrimPrefix(path, "/") },
		Client:       peer, Now: time.Now, Status: func() Status { return Status{} },
		Diagnose: func(*http.Request, DiagnoseQuestion) any { return struct{}{} },
	}
}

// Validate says what is wrong with the settings of a person; missing rooms are a bug of the caller and found at once in use.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("--http is %q, want HOST:PORT or :PORT such as :8080 or 127.0.0.1:8080", c.Listen)
	}
	if c.MaxConns < 1 || c.MaxConns > 1_000_000 {
		return fmt.Errorf("--http-max-connections is %d, want 1 to 1000000", c.MaxConns)
	}
	if c.DataDir == "" {
		return errors.New("--data is empty, want a directory")
	}
	return nil
}

// peer is the client of whom no header is believed.
func peer(r *http.Request) Client {
	addrPort, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return Client{Direct: true} // the admin socket
	}
	addr := addrPort.Addr().Unmap()
	forwarded := r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" || r.Header.Get("X-Real-Ip") != ""
	return Client{Addr: addr, Direct: addr.IsLoopback() && !forwarded}
}

var (
	_ Controller = (*raftfsm.Controller)(nil)
	_ Rollup     = (*rollup.Rollup)(nil)
)
