package ingest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/enrich"
	"github.com/weir-analytics/weir/ingest/visitor"
)

// Ingest takes hits in. All methods are safe for concurrent use.
type Ingest struct {
	cfg     Config
	metrics *metrics
	queue   *queue
	clients *clientip.Resolver
	places  *enrich.Places

	networks *enrich.Places
	agents   agents
	days     visitor.Memory
	proxies  proxyWatch
	siteIDs  siteIDs
	drops    *drops
	limits   *limits
	bodies   atomic.Int64 // bytes held by large bodies that are being read

	dropsFailed bool // of the goroutine that writes them

	rules  *ruleSet
	bySite rulesMemory
	routes map[string]route
}

// New checks the configuration and loads the country database. It starts nothing and touches no network. A country database that cannot be
// used is no error: see Geo.
func New(cfg Config) (*Ingest, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	boot := make([]byte, 8)
	rand.Read(boot) // never fails
	source := fmt.Sprintf("n%d-%s", cfg.NodeID, hex.EncodeToString(boot))
	i := &Ingest{
		cfg:     cfg,
		clients: clientip.New(cfg.TrustedProxies, cfg.TrustedHops, cfg.ClientHeader),
		rules:   newRuleSet(cfg.Rules),
		drops:   newDrops(source),
		limits:  newLimits(cfg.Limits),
		places:  enrich.OpenPlaces(cfg.GeoIP, cfg.Now, cfg.Log),

		networks: enrich.OpenNetworks(cfg.GeoIPASN, cfg.Now, cfg.Log),
	}
	i.metrics = newMetrics(&i.cfg, &i.bodies)
	i.routes = i.routeTable()
	i.queue = newQueue(&i.cfg, i.metrics, source, i.lost)
	return i, nil
}

// Run writes hits to the log until ctx ends; then it writes what is queued, refuses what comes, and returns nil. Requests that arrive
// before Run wait for it.
func (i *Ingest) Run(ctx context.Context) error {
	var places sync.WaitGroup
	places.Go(func() { _ = i.places.Run(ctx) })
	places.Go(func() { _ = i.networks.Run(ctx) })
	dropped := make(chan struct{})
	waiting, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(dropped)
		i.runDrops(waiting)
	}()
	i.queue.run(ctx)
	stop() // after the last refusal
	places.Wait()
	<-dropped
	return nil
}

// Geo says where countries come from.
func (i *Ingest) Geo() enrich.PlacesStatus { return i.places.Status() }

// Networks says where autonomous systems come from. Where no file was named its Source and Error are empty.
func (i *Ingest) Networks() enrich.PlacesStatus { return i.networks.Status() }

// Clients returns what finds the visitor's address in a request, for others that need the same answer.
func (i *Ingest) Clients() *clientip.Resolver { return i.clients }
