package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/dashboards"
	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/web"
)

// Node is one node. Its methods may be called from any goroutine.
type Node struct {
	cfg     Config
	started time.Time
	reg     *prometheus.Registry

	lock   io.Closer
	ctl    *raftfsm.Controller
	broker *broker.Broker
	ingest *ingest.Ingest
	rollup *rollup.Rollup
	web    *web.Server
	debug  *debugServer

	ready chan struct{} // closed by Run once hits are taken in and counted
}

// Open builds a node. Nothing is answered before Run. Errors say which flag to change or what else to do.
func Open(cfg Config) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, started: cfg.Now(), reg: prometheus.NewRegistry(), ready: make(chan struct{})}
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// open builds the parts from the bottom to the top.
func (n *Node) open() (err error) {
	n.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if n.lock, err = prepareDir(n.cfg.first()); err != nil {
		return err
	}
	if n.ctl, err = n.openController(); err != nil {
		return err
	}
	if n.broker, err = n.openBroker(); err != nil {
		return err
	}
	if n.ingest, err = n.openIngest(); err != nil {
		return err
	}
	if n.rollup, err = n.openRollup(); err != nil {
		return err
	}
	if n.web, err = n.openWeb(); err != nil {
		return err
	}
	n.debug, err = openDebug(n.cfg.DebugHTTP)
	return err
}

func (n *Node) room(name string) *slog.Logger { return n.cfg.Log.With("room", name) }

func (n *Node) openController() (*raftfsm.Controller, error) {
	cfg := raftfsm.Default(n.cfg.first())
	cfg.NodeID, cfg.ClusterID = n.cfg.NodeID, n.cfg.ClusterID
	cfg.Now, cfg.Registerer, cfg.Log = n.cfg.Now, n.reg, n.room("raftfsm")
	ctl, err := raftfsm.Open(cfg)
	if err != nil {
		return nil, fmt.Errorf("--data %s: %w", n.cfg.first(), err)
	}
	return ctl, nil
}

func (n *Node) openBroker() (*broker.Broker, error) {
	cfg := broker.Default()
	cfg.DataDir, cfg.MoreDirs, cfg.LockDir = n.cfg.first(), n.cfg.DataDirs[1:], lockDir
	cfg.NodeID, cfg.ServerID = n.cfg.NodeID, n.ctl.ServerID()
	var err error
	if cfg.Listeners, cfg.API.Access, err = n.brokerListeners(); err != nil {
		return nil, err
	}
	cfg.FixedPartitions = isPipelineTopic
	cfg.API.AutoCreateTopics = n.cfg.AutoCreate
	cfg.API.DefaultPartitions = n.cfg.Partitions
	cfg.Registry, cfg.Log = n.reg, n.room("broker")
	return broker.Open(cfg, n.ctl)
}

func (n *Node) openIngest() (*ingest.Ingest, error) {
	cfg := ingest.Default()
	cfg.Sites, cfg.Appender = n.ctl, appender{n.broker}
	cfg.NodeID = n.cfg.NodeID
	cfg.GeoIP, cfg.TrustedProxies, cfg.ClientHeader = n.cfg.GeoIP, n.cfg.TrustedProxies, n.cfg.ClientHeader
	cfg.Rules, cfg.Limits, cfg.DubSecret = n.cfg.Rules, n.cfg.Limits, n.cfg.DubSecret
	cfg.LinkWait, cfg.Started = n.cfg.LinkWait, n.ctl.Ready()
	if n.cfg.Counting { // rollup is opened later, and before the first hit comes
		cfg.Highest = func(partition int32, source string) (uint64, error) { return n.rollup.Highest(partition, source) }
		cfg.Counted = func(ctx context.Context, offsets map[int32]int64) error { return n.rollup.WaitFor(ctx, offsets) }
	}
	cfg.Now, cfg.Registry, cfg.Log = n.cfg.Now, n.reg, n.room("ingest")
	i, err := ingest.New(cfg)
	if err != nil {
		return nil, err
	}
	return i, n.checkGeoIP(i)
}

// checkGeoIP refuses a start with a database that is there and cannot be used: somebody meant it to be used. One that is missing may be on
// its way, and is taken once it appears.
func (n *Node) checkGeoIP(i *ingest.Ingest) error {
	status := i.Geo()
	if n.cfg.GeoIP == "" || status.Error == "" || status.Source != "" {
		return nil
	}
	if _, err := os.Stat(n.cfg.GeoIP); errors.Is(err, os.ErrNotExist) {
		n.room("ingest").Warn("the country database is missing; countries are unknown until the file is there", "path", n.cfg.GeoIP)
		return nil
	}
	return fmt.Errorf("--geoip %s: %s; get the file again, or leave the flag away to use the database in the binary", n.cfg.GeoIP, status.Error)
}

func (n *Node) openRollup() (*rollup.Rollup, error) {
	return rollup.Open(rollup.Config{
		Seeds: []string{n.broker.Addr().String()}, Dialer: n.broker.Dial,
		Sites: n.ctl, Dir: filepath.Join(n.cfg.first(), "rollup"), Refused: ingest.TopicDropped,
		Registry: n.reg, Log: n.room("rollup"),
	})
}

func (n *Node) openWeb() (*web.Server, error) {
	cfg := web.Default()
	cfg.Listen, cfg.DataDir, cfg.MaxConns = n.cfg.HTTP, n.cfg.first(), n.cfg.HTTPMaxConnections
	cfg.Controller, cfg.Rollup, cfg.Importer = n.ctl, n.rollup, importer{n.ingest, n.rollup}
	cfg.Collect, cfg.HitSchema = n.ingest.Handler(), []byte(hit.Schema())
	cfg.CollectPaths = ingest.Paths()
	cfg.TrackerFile = dialect.TrackerFile
	cfg.Dev = n.cfg.Dev
	if assets, built := dashboards.Assets(); built {
		cfg.Assets = assets
	}
	if n.cfg.Dev {
		cfg.Assets = os.DirFS(n.cfg.DevAssets)
	}
	cfg.Started = n.ctl.Ready()
	cfg.Checks = []web.Check{
		web.ReadyWhen("controller", n.ctl.Ready(), "the cluster state is not read yet"),
		web.ReadyWhen("log", n.broker.Ready(), "partitions are being opened"),
		web.ReadyWhen("topics", n.ready, "the topics are being made"),
		{Name: "partitions", Ready: n.partitionsServe},
	}
	if n.cfg.Counting {
		cfg.Checks = append(cfg.Checks, web.Check{Name: "counts", Ready: n.rollup.Ready})
	}
	cfg.Status, cfg.Attribution = n.status, n.attribution()
	cfg.Client = n.client
	cfg.Kafka = n.dialKafka
	cfg.Now, cfg.Registry, cfg.Log = n.cfg.Now, n.reg, n.cfg.Log
	return web.Open(cfg)
}

// dialKafka connects to the log from within the process. host is another broker of the cluster, or empty.
func (n *Node) dialKafka(ctx context.Context, host string) (net.Conn, error) {
	return n.broker.Dial(ctx, "tcp", host)
}

func (n *Node) partitionsServe() (bool, string) {
	if failed := n.broker.Failed(); len(failed) > 0 {
		return false, errors.Join(failed...).Error()
	}
	return true, ""
}

func (n *Node) client(r *http.Request) web.Client {
	c := n.ingest.Clients().Resolve(r)
	return web.Client{Addr: c.Addr, Direct: c.Direct()}
}

// status is what the node says about itself.
func (n *Node) status() web.Status {
	geo := n.ingest.Geo()
	source := geo.Source
	if source == "" {
		source = "none"
	}
	return web.Status{
		Version: n.cfg.Version, Commit: n.cfg.Commit, StartedAt: n.started, NodeID: n.cfg.NodeID, ClusterID: n.ctl.ClusterID(),
		GeoIP: web.GeoIP{Source: source, Built: geo.Built}, DataDir: n.cfg.first(),
		Listeners: n.listeners(),
	}
}

// listeners are the addresses by protocol. Kafka's first listener is "kafka", each of several is also "kafka:" and its name.
func (n *Node) listeners() map[string]string {
	all := map[string]string{"http": n.web.Addr().String(), "kafka": n.broker.Addr().String()}
	list, err := n.cfg.kafkaListeners()
	if err != nil {
		return all // found at the start
	}
	for i, addr := range n.broker.Addrs() {
		if len(list) > 1 {
			all["kafka:"+list[i].name] = addr.String()
		}
	}
	return all
}

// attribution names whose data the pages show. The licence of the built-in database asks for it.
func (n *Node) attribution() []web.Attribution {
	if n.cfg.GeoIP != "" {
		return nil
	}
	return []web.Attribution{{Text: "IP Geolocation by DB-IP", URL: "https://db-ip.com", Licence: "CC BY 4.0"}}
}
