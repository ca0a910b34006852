package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/broker/meter"
	"github.com/weir-analytics/weir/cmd/node/kafkalog"
	"github.com/weir-analytics/weir/dashboards"
	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/enrich"
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

	lock    io.Closer
	ctl     *raftfsm.Controller
	broker  *broker.Broker // nil when outside is the log
	outside *kafkalog.Log  // nil when the log is built in
	ingest  *ingest.Ingest
	rollup  *rollup.Rollup
	web     *web.Server
	debug   *debugServer

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
	if _, err := os.Stat(filepath.Join(n.cfg.first(), broker.MarkerFile)); err == nil {
		return fmt.Errorf("--data %s: it is a further directory of a node; give the one with identity.json first", n.cfg.first())
	}
	if n.ctl, err = n.openController(); err != nil {
		return err
	}
	if err = n.openLog(); err != nil {
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
	var err error
	if cfg.Peers, err = n.cfg.Cluster.open(); err != nil {
		return nil, err
	}
	ctl, err := raftfsm.Open(cfg)
	if err != nil {
		if cfg.Peers != nil {
			cfg.Peers.Listener.Close()
		}
		return nil, fmt.Errorf("--data %s: %w", n.cfg.first(), err)
	}
	n.cfg.NodeID = ctl.NodeID()
	return ctl, nil
}

func (n *Node) openBroker() (*broker.Broker, error) {
	cfg := broker.Default()
	cfg.NodeID, cfg.ServerID, cfg.LockDir = n.cfg.NodeID, n.ctl.ServerID(), lockDir
	for _, dir := range n.cfg.DataDirs { // kept in a file, and told to clients, who may have been started elsewhere
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("--data %s: %w", dir, err)
		}
		cfg.MoreDirs = append(cfg.MoreDirs, abs)
	}
	cfg.DataDir, cfg.MoreDirs = cfg.MoreDirs[0], cfg.MoreDirs[1:]
	var err error
	if cfg.Listeners, cfg.API.Access, err = n.brokerListeners(); err != nil {
		return nil, err
	}
	cfg.Peers = n.ctl.Peers()
	cfg.FixedPartitions = isPipelineTopic
	cfg.API.AutoCreateTopics = n.cfg.AutoCreate
	cfg.API.DefaultPartitions = n.cfg.Partitions
	cfg.Registry, cfg.Log = n.reg, n.room("broker")
	return broker.Open(cfg, n.ctl)
}

func (n *Node) openIngest() (*ingest.Ingest, error) {
	cfg := ingest.Default()
	cfg.Sites, cfg.Appender = n.ctl, n.logAppender()
	if n.outside != nil {
		cfg.Partitions = n.outside.Partitions
	}
	cfg.NodeID = n.cfg.NodeID
	cfg.GeoIPASN = n.cfg.GeoIPASN
	cfg.GeoIP, cfg.TrustedProxies, cfg.TrustedHops, cfg.ClientHeader = n.cfg.GeoIP, n.cfg.TrustedProxies, n.cfg.TrustedHops, n.cfg.ClientHeader
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
	for _, db := range []struct {
		file, flag, without string
		status              enrich.PlacesStatus
	}{
		{n.cfg.GeoIP, "--geoip", "to use the database in the binary", i.Geo()},
		{n.cfg.GeoIPASN, "--geoip-asn", "to do without", i.Networks()},
	} {
		if db.file == "" || db.status.Error == "" || db.status.Source != "" {
			continue
		}
		if _, err := os.Stat(db.file); errors.Is(err, os.ErrNotExist) {
			n.room("ingest").Warn("a database of addresses is missing; it is taken once the file is there", "flag", db.flag, "path", db.file)
			continue
		}
		return fmt.Errorf("%s %s: %s; get the file again, or leave the flag away %s", db.flag, db.file, db.status.Error, db.without)
	}
	return nil
}

func (n *Node) openRollup() (*rollup.Rollup, error) {
	cfg := rollup.Config{Sites: n.ctl, Dir: filepath.Join(n.cfg.first(), "rollup"), Refused: ingest.TopicDropped, Registry: n.reg, Log: n.room("rollup")}
	n.reachLog(&cfg)
	return rollup.Open(cfg)
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
		n.logCheck(),
		web.ReadyWhen("topics", n.ready, "the topics are being made"),
		{Name: "partitions", Ready: n.partitionsServe},
	}
	if n.cfg.Counting {
		cfg.Checks = append(cfg.Checks, web.Check{Name: "counts", Ready: n.rollup.Ready})
	}
	cfg.Status, cfg.Attribution = n.status, n.attribution
	cfg.Client, cfg.Diagnose = n.client, func(r *http.Request, q web.DiagnoseQuestion) any {
		return n.ingest.Diagnose(r, ingest.Question{Site: q.Site, URL: q.URL, Referrer: q.Referrer})
	}
	if n.broker != nil {
		cfg.Kafka, cfg.Received, cfg.Cluster = n.dialKafka, n.received, n.cluster()
	}
	cfg.Now, cfg.Registry, cfg.Log = n.cfg.Now, n.reg, n.cfg.Log
	return web.Open(cfg)
}

// cluster is what can be asked of and done to the nodes of the cluster.
func (n *Node) cluster() *web.Cluster {
	return &web.Cluster{
		Status: func() any { return n.broker.Cluster() },
		AddToken: func(ctx context.Context, holds time.Duration) (string, error) {
			t, err := n.ctl.AddJoinToken(ctx, holds)
			if err != nil {
				return "", err
			}
			return t.Text(), nil
		},
		RemoveNode: n.ctl.RemoveNode,
	}
}

// received answers what partitions of the log have taken in.
func (n *Node) received(ctx context.Context, q web.ReceivedQuery) (any, error) {
	return n.broker.Received(ctx, meter.Query{Topic: q.Topic, Partition: q.Partition, Since: q.Since, Until: q.Until, Limit: q.Limit})
}

func (n *Node) partitionsServe() (bool, string) {
	if n.outside != nil {
		return true, "" // the cluster's own tools say how it is
	}
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
	return web.Status{
		Version: n.cfg.Version, Commit: n.cfg.Commit, StartedAt: n.started, NodeID: n.cfg.NodeID, ClusterID: n.ctl.ClusterID(),
		GeoIP: geoIP(n.ingest.Geo()), GeoIPASN: geoIP(n.ingest.Networks()), DataDir: n.cfg.first(),
		Listeners: n.listeners(),
	}
}

// listeners are the addresses by protocol. Kafka's first listener is "kafka", each of several is also "kafka:" and its name.
func (n *Node) listeners() map[string]string {
	all := map[string]string{"http": n.web.Addr().String(), "kafka": n.KafkaAddr()}
	if n.outside != nil {
		return all
	}
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

// geoIP is what a node says about a database of addresses.
func geoIP(s enrich.PlacesStatus) web.GeoIP {
	source := s.Source
	if source == "" {
		source = "none"
	}
	return web.GeoIP{Source: source, Type: s.Type, Built: s.Built, Old: s.Old, Error: s.Error}
}

// credits are the words that licences of free databases ask for, by what their types begin with.
var credits = []struct {
	begins string
	credit web.Attribution
}{
	{"DBIP-", web.Attribution{Text: "IP Geolocation by DB-IP", URL: "https://db-ip.com", Licence: "CC BY 4.0"}},
	{"GeoLite2-", web.Attribution{Text: "This product includes GeoLite2 data created by MaxMind", URL: "https://www.maxmind.com"}},
	{"IP2LITE", web.Attribution{Text: "This site uses the IP2Location LITE database", URL: "https://lite.ip2location.com", Licence: "CC BY-SA 4.0"}},
	{"IP2LOCATION-LITE", web.Attribution{Text: "This site uses the IP2Location LITE database", URL: "https://lite.ip2location.com", Licence: "CC BY-SA 4.0"}},
	{"ipinfo ", web.Attribution{Text: "IP address data powered by IPinfo", URL: "https://ipinfo.io", Licence: "CC BY-SA 4.0"}},
}

// attribution names whose data the pages show, once each. The files may change while the node runs.
func (n *Node) attribution() []web.Attribution {
	var names []web.Attribution
	add := func(kind string) {
		for _, c := range credits {
			if len(kind) >= len(c.begins) && strings.EqualFold(kind[:len(c.begins)], c.begins) && !slices.Contains(names, c.credit) {
				names = append(names, c.credit)
			}
		}
	}
	if n.cfg.GeoIP == "" {
		add("DBIP-") // the built-in one, whatever it calls itself
	} else {
		add(n.ingest.Geo().Type)
	}
	add(n.ingest.Networks().Type)
	return names
}
