package cmd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/cmd/demo"
	"github.com/weir-analytics/weir/cmd/node"
)

const demoEmail = "demo@example.com"

func demoCommand() *cobra.Command {
	cfg := node.Default()
	cfg.DataDir = "data-demo"
	var logs logFlags
	c := &cobra.Command{
		Use: "demo", Short: "Run a node with made-up traffic, to look around", Args: exactly(0),
		Long: `Run a node on a data directory of its own, with three made-up sites: a year of history that grows denser towards today, and visitors
who come now. Everything goes through the same doors as real traffic: the import, the batch of clicks and the collecting address.
Remove the directory to forget it.`,
	}
	nodeFlags(c, &cfg, &logs)
	logs.level = "warn"
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg.Log = logs.logger(c.ErrOrStderr())
		return serve(c.Context(), cfg, io.Discard, func(ctx context.Context, n *node.Node) error {
			err := runDemo(ctx, n, cfg, c.OutOrStdout())
			if ctx.Err() != nil {
				return nil
			}
			return err
		})
	}
	return c
}

// runDemo fills a node and keeps sending until ctx ends.
func runDemo(ctx context.Context, n *node.Node, cfg node.Config, out io.Writer) error {
	a, err := (&reach{data: cfg.DataDir}).connect()
	if err != nil {
		return err
	}
	password := rand.Text()[:12]
	if err := demoUser(ctx, a, password); err != nil {
		return fmt.Errorf("make the demo's account: %w", err)
	}
	fmt.Fprintf(out, "\nweir demo\n\n  dashboard  %s\n  log in     %s with the password %s\n  kafka      %s\n  data       %s\n\n", n.URL(), demoEmail, password, n.KafkaAddr(), cfg.DataDir)
	for _, site := range demo.Sites() {
		took := time.Now()
		hits, err := demoHistory(ctx, a, n.URL(), site, time.Now())
		if err != nil {
			return fmt.Errorf("history of %s: %w", site.Name, err)
		}
		if hits > 0 {
			fmt.Fprintf(out, "  %-22s %6d hits of history in %.1f s\n", site.Name, hits, time.Since(took).Seconds())
		}
	}
	fmt.Fprintf(out, "\nvisitors are coming now; Ctrl-C stops\n")
	return demoLive(ctx, n.URL(), cfg.Log)
}

// demoUser makes the account, or gives it another password when it is there from an earlier run.
func demoUser(ctx context.Context, a *api, password string) error {
	err := a.call(ctx, http.MethodPost, "/api/v1/users", map[string]string{"email": demoEmail, "role": "admin", "password": password}, nil)
	if is(err, http.StatusConflict) {
		return a.call(ctx, http.MethodPut, "/api/v1/users/"+url.PathEscape(demoEmail)+"/password", map[string]string{"password": password}, nil)
	}
	return err
}

func is(err error, status int) bool {
	var e *apiError
	return errors.As(err, &e) && e.Status == status
}

// spans of history: how many days back they begin and end, and how busy they are.
var demoSpans = []struct {
	fromDays, toDays int
	scale            float64
}{{360, 60, 0.02}, {60, 3, 0.15}, {3, 0, 1}}

// demoHistory adds the site and imports its past, unless it is there from an earlier run. It returns the number of hits.
func demoHistory(ctx context.Context, a *api, base string, site demo.Site, now time.Time) (int, error) {
	err := a.call(ctx, http.MethodPost, "/api/v1/sites", map[string]string{"name": site.Name, "timezone": site.Timezone}, nil)
	if is(err, http.StatusConflict) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	traffic := demo.New(uint64(len(site.Name)))
	var hits []demo.Hit
	for _, s := range demoSpans {
		hits = append(hits, traffic.Between(site, now.AddDate(0, 0, -s.fromDays), now.AddDate(0, 0, -s.toDays), s.scale)...)
	}
	if site.Links {
		return len(hits), demoClicks(ctx, base, hits)
	}
	var log bytes.Buffer
	if err := demo.WriteLog(&log, hits); err != nil {
		return 0, err
	}
	res, err := a.send(ctx, http.MethodPost, sitePath(site.Name)+"/import?wait=1&file=demo.log", http.Header{"Content-Type": {"text/plain"}}, &log)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	line, _, err := readImport(res.Body, func(importLine) {})
	return int(line.Accepted), err
}

// demoClicks posts clicks in batches, as a short-link service does.
func demoClicks(ctx context.Context, base string, hits []demo.Hit) error {
	const perBatch = 1000
	for len(hits) > 0 {
		n := min(perBatch, len(hits))
		var body bytes.Buffer
		if err := demo.WriteClicks(&body, hits[:n]); err != nil {
			return err
		}
		if err := demoPost(ctx, base+"/api/clicks", "application/x-ndjson", nil, &body); err != nil {
			return err
		}
		hits = hits[n:]
	}
	return nil
}

// demoLive sends hits as visitors' browsers do, until ctx ends. A hit that is refused is reported and the next one tried.
func demoLive(ctx context.Context, base string, log *slog.Logger) error {
	traffic := demo.New(uint64(time.Now().UnixNano()))
	for {
		hit, pause := traffic.Next(time.Now())
		if err := demoSend(ctx, base, hit); err != nil && ctx.Err() == nil {
			log.Warn("a made-up hit was not taken", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func demoSend(ctx context.Context, base string, hit demo.Hit) error {
	var body bytes.Buffer
	if hit.Site.Links {
		if err := demo.WriteClicks(&body, []demo.Hit{hit}); err != nil {
			return err
		}
		return demoPost(ctx, base+"/api/clicks", "application/x-ndjson", nil, &body)
	}
	event := map[string]string{"n": "pageview", "d": hit.Site.Name, "u": "https://" + hit.Site.Name + hit.Page, "r": hit.Referrer}
	if err := json.NewEncoder(&body).Encode(event); err != nil {
		return err
	}
	header := http.Header{"User-Agent": {hit.Agent}, "X-Forwarded-For": {hit.Address}}
	return demoPost(ctx, base+"/api/event", "text/plain", header, &body)
}

func demoPost(ctx context.Context, address, contentType string, header http.Header, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s: %s", address, res.Status, printable(string(answer)))
	}
	return nil
}
