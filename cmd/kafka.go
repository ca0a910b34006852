package cmd

import (
	"context"
	"errors"
	"fmt"
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
	c.PersistentFlags().StringSliceVar(&b.brokers, "brokers", nil, "Kafka addresses as HOST:PORT, separated by commas (default: through the node on --data or --url, else "+defaultKafka+")")
	return b
}

// options say how to reach the log: through the node's API, where the caller may do everything, or at the addresses named.
func (b *brokerReach) options(ctx context.Context) (opts []kgo.Opt, where string) {
	if len(b.brokers) == 0 {
		if a, err := b.reach.connect(); err == nil && a.await(ctx) == nil {
			return []kgo.Opt{kgo.SeedBrokers(tunnelSeed), kgo.Dialer(a.dialKafka)}, a.where
		}
		b.brokers = []string{defaultKafka}
	}
	return []kgo.Opt{kgo.SeedBrokers(b.brokers...)}, strings.Join(b.brokers, ", ")
}

// client connects and makes sure that somebody answers, so that a wrong address is an error and not a silence.
func (b *brokerReach) client(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	reached, where := b.options(ctx)
	reached = append(reached, kgo.ClientID("weir-cli"), kgo.RetryTimeout(30*time.Second))
	client, err := kgo.NewClient(append(reached, opts...)...)
	if err != nil {
		return nil, usagef("--brokers: %w", err)
	}
	pingCtx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Ping(pingCtx); err != nil {
		client.Close()
		return nil, fmt.Errorf("no Kafka listener answers at %s (%w): start a node with \"weir serve\", or name its address with --brokers or WEIR_BROKERS", where, err)
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
