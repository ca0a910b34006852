package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-analytics/weir/cmd/node/kafkalog"
	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/web"
)

// outsideFile names the Kafka cluster that holds the hits of a data directory, so that no start looks for them elsewhere.
const outsideFile = "kafka-cluster.json"

type outsideCluster struct {
	ClusterID string   `json:"cluster_id"`
	Brokers   []string `json:"brokers"`
}

// openLog opens the built-in log, or a client of the cluster that stands in for it.
func (n *Node) openLog() (err error) {
	held, err := readOutside(n.cfg.first())
	if err != nil {
		return err
	}
	if len(n.cfg.KafkaBrokers.Brokers) == 0 {
		if held != nil {
			return fmt.Errorf("--data %s: the hits and counts of this directory are in the Kafka cluster %s: give --kafka-brokers %s, or another directory",
				n.cfg.first(), held.ClusterID, strings.Join(held.Brokers, ","))
		}
		n.broker, err = n.openBroker()
		return err
	}
	n.outside, err = kafkalog.Open(n.cfg.KafkaBrokers, n.room("log"))
	return err
}

func readOutside(dir string) (*outsideCluster, error) {
	path := filepath.Join(dir, outsideFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var held outsideCluster
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&held); err != nil || held.ClusterID == "" {
		return nil, fmt.Errorf("%s is damaged (%v): it names the Kafka cluster with the hits of this directory, as {\"cluster_id\": ..., \"brokers\": [...]}; write it anew", path, err)
	}
	return &held, nil
}

// prepareOutside makes or checks the topics of the cluster, and keeps in mind which cluster it is.
func (n *Node) prepareOutside(ctx context.Context) error {
	if topics := n.ctl.State().Topics; len(topics) > 0 {
		return fmt.Errorf("--kafka-brokers: the data directory %s has a log of its own with %d topics, whose hits would be left out: give an empty directory", n.cfg.first(), len(topics))
	}
	held, err := readOutside(n.cfg.first())
	if err != nil {
		return err
	}
	var specs []state.TopicSpec
	for _, spec := range append(rollup.Topics(), ingest.Topics()...) {
		specs = append(specs, n.retained(spec))
	}
	return n.outside.Prepare(ctx, specs, func(id string) error {
		switch {
		case held == nil:
			b, err := json.Marshal(outsideCluster{ClusterID: id, Brokers: n.outside.Seeds()})
			if err != nil {
				return err
			}
			return vfs.WriteFile(vfs.OS{}, n.cfg.first(), outsideFile, append(b, '\n'))
		case held.ClusterID != id:
			return fmt.Errorf("--kafka-brokers: this is the Kafka cluster %s; the hits of --data %s are in %s, at %s", id, n.cfg.first(), held.ClusterID, strings.Join(held.Brokers, ","))
		}
		return nil
	})
}

// logAppender is what ingest writes to.
func (n *Node) logAppender() ingest.Appender {
	if n.outside != nil {
		return n.outside
	}
	return appender{n.broker}
}

// reachLog says how counting reaches the log.
func (n *Node) reachLog(cfg *rollup.Config) {
	if n.outside != nil {
		cfg.Seeds, cfg.Opts = n.outside.Seeds(), n.outside.Conn()
		return
	}
	cfg.Seeds, cfg.Dialer = []string{n.broker.Addr().String()}, n.broker.Dial
}

// runLog runs the log until ctx ends.
func (n *Node) runLog(ctx context.Context) error {
	if n.outside != nil {
		<-ctx.Done()
		return nil
	}
	return n.broker.Run(ctx)
}

// dialKafka connects to the built-in log from within the process. host is another broker of the cluster, or empty.
func (n *Node) dialKafka(ctx context.Context, host string) (net.Conn, error) {
	return n.broker.Dial(ctx, "tcp", host)
}

// logCheck is the line about the log of /readyz.
func (n *Node) logCheck() web.Check {
	if n.outside != nil {
		return web.Check{Name: "log", Ready: n.outside.Check}
	}
	return web.ReadyWhen("log", n.broker.Ready(), "partitions are being opened")
}
