package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// startNATS starts this program as a NATS server with file storage and the given sync_interval. It gets one record in share.
func startNATS(ctx context.Context, s settings, sync string, share int) (*peer, error) {
	dir := filepath.Join(s.dir, "nats-"+sync)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	cmd, out, stop, err := child("/proc/self/exe", "-serve", "nats", "-dir", dir, "-sync", sync)
	if err != nil {
		return nil, err
	}
	var url string
	if err := await(ctx, out, func() error {
		if _, err := fmt.Sscan(out.String(), &url); err != nil {
			return fmt.Errorf("nats printed no address: %w", err)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("%w; %w", err, stop())
	}
	return &peer{pid: cmd.Process.Pid, stop: stop, measure: func(ctx context.Context, records, size int) (result, error) {
		return measureNATS(ctx, cmd.Process.Pid, url, max(records/share, 100), size)
	}}, nil
}

func serveNATS(ctx context.Context, dir, sync string) error {
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, SyncAlways: sync == "always"}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(30 * time.Second) {
		return fmt.Errorf("nats is not ready after 30 s")
	}
	fmt.Println(s.ClientURL())
	<-ctx.Done()
	return nil
}

// natsWindow is how many publishes may be unanswered.
const natsWindow = 1024

func measureNATS(ctx context.Context, pid int, url string, records, size int) (r result, err error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return r, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(natsWindow))
	if err != nil {
		return r, err
	}
	name := fmt.Sprintf("bench-%d", rand.Uint64())
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Storage: jetstream.FileStorage})
	if err != nil {
		return r, err
	}
	value := make([]byte, size)
	r.produce, err = timed(pid, records, func() error {
		futures := make([]jetstream.PubAckFuture, 0, natsWindow)
		for range records {
			if len(futures) == natsWindow/2 { // in halves, so that the window never runs empty
				if err := settle(ctx, futures[:natsWindow/4]); err != nil {
					return err
				}
				futures = append(futures[:0], futures[natsWindow/4:]...)
			}
			f, err := js.PublishAsync(name, value)
			if err != nil {
				return err
			}
			futures = append(futures, f)
		}
		return settle(ctx, futures)
	})
	if err != nil {
		return r, fmt.Errorf("publish: %w", err)
	}
	r.consume, err = timed(pid, records, func() error {
		c, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
		if err != nil {
			return err
		}
		var got atomic.Int64
		all := make(chan struct{})
		sub, err := c.Consume(func(jetstream.Msg) {
			if got.Add(1) == int64(records) {
				close(all)
			}
		})
		if err != nil {
			return err
		}
		defer sub.Stop()
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return r, fmt.Errorf("consume: %w", err)
	}
	return r, js.DeleteStream(ctx, name)
}

func settle(ctx context.Context, futures []jetstream.PubAckFuture) error {
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
