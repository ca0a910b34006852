package ingest

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestAProxyThatHidesEverybodyIsWarnedAboutOnce(t *testing.T) {
	var out bytes.Buffer
	f := start(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
	for range 2*suspicious + 1 {
		f.send("POST", "/api/event", pageview, "X-Forwarded-For", "172.18.0.1")
	}
	f.stop()
	if n := strings.Count(out.String(), "--trusted-proxies"); n != 1 {
		t.Errorf("%d warnings: %s", n, out.String())
	}
}

func TestVisitorsFromOutsideAreNoReasonToWarn(t *testing.T) {
	var out bytes.Buffer
	f := start(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
	for n := range 2 * suspicious {
		address := fmt.Sprintf("81.2.69.%d", n%100)
		if n%2 == 0 && n > 0 {
			address = "10.0.0.5"
		}
		f.send("POST", "/api/event", pageview, "X-Forwarded-For", address)
	}
	f.stop()
	if strings.Contains(out.String(), "--trusted-proxies") || strings.Contains(out.String(), "81.2.69.") {
		t.Errorf("log: %s", out.String())
	}
}
