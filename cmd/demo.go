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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/cmd/demo"
	"github.com/weir-analytics/weir/cmd/node"
)

const demoEmail = "demo@example.com"

func demoCommand() *cobra.Command {
	cfg := node.Default()
	cfg.DataDirs = []string{"data-demo"}
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
	a, err := (&reach{data: cfg.DataDirs}).connect()
	if err != nil {
		return err
	}
	password := rand.Text()[:12]
	if err := demoUser(ctx, a, password); err != nil {
		return fmt.Errorf("make the demo's account: %w", err)
	}
	fmt.Fprintf(out, "\nweir demo\n\n  dashboard  %s\n  log in     %s with the password %s\n  kafka      %s\n  data       %s\n\n", n.URL(), demoEmail, password, n.KafkaAddr(), strings.Join(cfg.DataDirs, ", "))
	fresh, err := demoSites(ctx, a)
	if err != nil {
		return err
	}
	live := make(chan error, 1)
	go func() { live <- demoLive(ctx, n.URL(), cfg.Log) }()
	began := time.Now()
	hits, err := demoHistory(ctx, a, n.URL(), fresh, began)
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	if hits > 0 {
		fmt.Fprintf(out, "  %d hits of history in %.1f s; counting them may take a little longer\n", hits, time.Since(began).Seconds())
	}
	fmt.Fprintln(out, "  visitors are coming now; Ctrl-C stops")
	return <-live
}

// demoSites adds the sites and returns those that were not there from an earlier run.
func demoSites(ctx context.Context, a *api) (fresh []demo.Site, err error) {
	for _, site := range demo.Sites() {
		err := a.call(ctx, http.MethodPost, "/api/v1/sites", map[string]string{"name": site.Name, "timezone": site.Timezone}, nil)
		if is(err, http.StatusConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("add %s: %w", site.Name, err)
		}
		fresh = append(fresh, site)
	}
	return fresh, nil
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

// demoSpans are the parts of the history, the newest first: how many days ago each begins and ends, and how busy it is.
var demoSpans = []struct {
	fromDays, toDays int
	scale            float64
}{{2, 0, 1}, {31, 2, 0.1}, {365, 31, 0.01}}

// demoHistory imports the past of the sites and returns the number of hits.
func demoHistory(ctx context.Context, a *api, base string, sites []demo.Site, now time.Time) (hits int, err error) {
	for i, span := range demoSpans {
		for _, site := range sites {
			made := demo.New(uint64(i)).Between(site, now.AddDate(0, 0, -span.fromDays), now.AddDate(0, 0, -span.toDays), span.scale)
			send := func() error { return demoLog(ctx, a, site, made) }
			if site.Links {
				send = func() error { return demoClicks(ctx, base, made) }
			}
			if err := send(); err != nil {
				return hits, fmt.Errorf("history of %s: %w", site.Name, err)
			}
			hits += len(made)
		}
	}
	return hits, nil
}

// demoLog imports hits as an access log.
func demoLog(ctx context.Context, a *api, site demo.Site, hits []demo.Hit) error {
	var log bytes.Buffer
	if err := demo.WriteLog(&log, hits); err != nil {
		return err
	}
	res, err := a.send(ctx, http.MethodPost, sitePath(site.Name)+"/import?file=demo.log", http.Header{"Content-Type": {"text/plain"}}, &log)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _, err = readImport(res.Body, func(importLine) {})
	return err
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
