package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
)

// Run runs the node until ctx ends or a part fails for good, then stops it in order: the listeners first, so that no more hits come in, then
// ingest, which commits what it took, then counting, then the log and the controller.
func (n *Node) Run(ctx context.Context) error {
	n.warn()
	const soon, writing = 5 * time.Second, 15 * time.Second // of a healthy disk each needs far less than a second
	return supervise(ctx, n.cfg.Log, []part{
		{"profiles", n.debug.run, soon},
		{"memory", n.trim, soon},
		{"controller", n.ctl.Run, soon},
		{"log", n.runLog, writing},
		{"set-up", n.setUp, soon},
		{"counting", n.count, writing},
		{"ingest", n.ingest.Run, writing},
		{"web", n.web.Run, writing},
	})
}

// warn says what is allowed but dangerous.
func (n *Node) warn() {
	list, err := n.cfg.kafkaListeners()
	if err != nil || n.outside != nil {
		return // found at the start, or none is opened
	}
	_, enforced := n.cfg.KafkaAccess.policy(list)
	for _, l := range list {
		if !loopback(l.addr) && !n.cfg.KafkaAccess.authenticates(l) && !enforced {
			n.cfg.Log.Warn("whoever reaches this Kafka listener may read and write everything; guard the port", "kafka", l.addr)
		}
	}
}

// setUp makes known where this node is and creates the topics of the pipeline, then waits for ctx.
func (n *Node) setUp(ctx context.Context) error {
	err := n.prepare(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	close(n.ready)
	<-ctx.Done()
	return nil
}

func (n *Node) prepare(ctx context.Context) error {
	select {
	case <-n.ctl.Ready():
	case <-ctx.Done():
		return nil
	}
	if n.outside != nil {
		return n.prepareOutside(ctx)
	}
	self, err := n.registration()
	if err != nil {
		return err
	}
	if err := n.ctl.RegisterBroker(ctx, self); err != nil {
		return fmt.Errorf("make this node's address known: %w", err)
	}
	for _, spec := range append(append(rollup.Topics(), ingest.Topics()...), broker.ReceivedTopic()) {
		if err := n.ensureTopic(ctx, spec); err != nil {
			return err
		}
	}
	select {
	case <-n.broker.Ready():
	case <-ctx.Done():
		return nil
	}
	if err := n.broker.ReportOpen(ctx); err != nil {
		return err
	}
	return n.ctl.AllowJoins(ctx)
}

// ensureTopic creates a topic that is missing. How long hits are kept is set anew at each start: the flag decides.
func (n *Node) ensureTopic(ctx context.Context, spec state.TopicSpec) error {
	const retention = "retention.ms"
	keep := n.keepHits()
	topic, ok := n.ctl.State().Topics[spec.Name]
	if ok && (spec.Name != ingest.Default().Topic || topic.Configs[retention] == keep) {
		return nil
	}
	if ok {
		configs := maps.Clone(topic.Configs)
		if configs == nil {
			configs = map[string]string{}
		}
		configs[retention] = keep
		if err := n.ctl.SetTopicConfigs(ctx, spec.Name, configs); err != nil {
			return fmt.Errorf("--retain-events: %w", err)
		}
		return nil
	}
	if _, err := n.ctl.CreateTopic(ctx, n.retained(spec)); err != nil && !errors.Is(err, state.ErrExists) {
		return fmt.Errorf("create topic %s: %w", spec.Name, err)
	}
	return nil
}

// keepHits is how long hits are kept, as a topic's setting.
func (n *Node) keepHits() string {
	if n.cfg.RetainEvents > 0 {
		return strconv.FormatInt(n.cfg.RetainEvents.Milliseconds(), 10)
	}
	return "-1"
}

// retained is a topic to make, with hits kept as long as the flag says.
func (n *Node) retained(spec state.TopicSpec) state.TopicSpec {
	if spec.Name == ingest.Default().Topic {
		spec.Configs = maps.Clone(spec.Configs)
		if spec.Configs == nil {
			spec.Configs = map[string]*string{}
		}
		keep := n.keepHits()
		spec.Configs["retention.ms"] = &keep
	}
	return spec
}

// count counts once the cluster state is known: hits of sites that are not known yet would be set apart.
func (n *Node) count(ctx context.Context) error {
	if !n.cfg.Counting {
		n.cfg.Log.Warn("hits are taken in and not counted: start without --counting=false to count them")
		<-ctx.Done()
		return nil
	}
	select {
	case <-n.ctl.Ready():
		return n.rollup.Run(ctx)
	case <-ctx.Done():
		return nil
	}
}

// WaitReady waits until the node is ready and reports whether it is; it is not when ctx ended first.
func (n *Node) WaitReady(ctx context.Context) bool {
	select {
	case <-n.ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// URL returns the address of the dashboard, as a browser on this machine would write it.
func (n *Node) URL() string { return n.web.URL() }

// KafkaAddr returns the address of the Kafka listener, or the brokers of the cluster that stands in for the built-in log.
func (n *Node) KafkaAddr() string {
	if n.outside != nil {
		return strings.Join(n.outside.Seeds(), ",")
	}
	return n.broker.Addr().String()
}

// SetupURL returns the one-time link that makes the first account, and false once there is one. It is a secret.
func (n *Node) SetupURL() (string, bool) { return n.web.SetupURL() }
