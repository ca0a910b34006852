package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/web"
)

const (
	defaultKafka = "127.0.0.1:9092"
	defaultData  = "data"
	adminSocket  = web.SocketName
)

// brokerReach says how to reach a Kafka listener.
type brokerReach struct {
	reach   *reach
	brokers []string
}

func brokerFlags(c *cobra.Command) *brokerReach {
	b := &brokerReach{reach: reachFlags(c)}
	c.PersistentFlags().StringSliceVar(&b.brokers, "brokers", nil, "Kafka addresses as HOST:PORT, separated by commas (default: the listener of the node on --data, else "+defaultKafka+")")
	return b
}

// seeds returns the addresses to begin with.
func (b *brokerReach) seeds(ctx context.Context) []string {
	if len(b.brokers) > 0 {
		return b.brokers
	}
	if a, err := b.reach.connect(); err == nil && b.reach.url == "" {
		var status struct {
			Listeners map[string]string `json:"listeners"`
		}
		if a.call(ctx, "GET", "/api/v1/status", nil, &status) == nil {
			if addr := dialable(status.Listeners["kafka"]); addr != "" {
				return []string{addr}
			}
		}
	}
	return []string{defaultKafka}
}

// dialable turns the address of a listener into one that this machine can dial.
func dialable(listener string) string {
	host, port, err := net.SplitHostPort(listener)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// client connects and makes sure that somebody answers, so that a wrong address is an error and not a silence.
func (b *brokerReach) client(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := b.seeds(ctx)
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(seeds...), kgo.ClientID("weir-cli"), kgo.RetryTimeout(30 * time.Second)}, opts...)...)
	if err != nil {
		return nil, usagef("--brokers: %w", err)
	}
	pingCtx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Ping(pingCtx); err != nil {
		client.Close()
		return nil, fmt.Errorf("no Kafka listener answers at %s (%w): start a node with \"weir serve\", or name its address with --brokers or WEIR_BROKERS", strings.Join(seeds, ", "), err)
	}
	return client, nil
}

// admin calls f with an admin client.
func (b *brokerReach) admin(ctx context.Context, f func(*kadm.Client) error) error {
	client, err := b.client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return f(kadm.NewClient(client))
}

// plain takes the code out of an error of the Kafka protocol where its description says the same.
func plain(err error, message string) error {
	if err == nil {
		return nil
	}
	if message != "" {
		return errors.New(message)
	}
	return err
}
