package ingest

import (
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/enrich"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/importer"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// exportAgent is what an export says of a browser: it has no agent string.
type exportAgent struct{ browser, browserVersion, os, osVersion, device string }

// maxExportAgents bounds those that an import remembers.
const maxExportAgents = 1000

// exportedAgent is the agent that an export describes. Its visitor is told by name, so its string is none.
func (im *importing) exportedAgent(e *importer.Export) *agent {
	key := exportAgent{e.Browser, e.BrowserVersion, e.OS, e.OSVersion, e.Device}
	if a, ok := im.exportAgents[key]; ok {
		return a
	}
	a := &agent{Agent: enrich.Agent{Browser: name(e.Browser), BrowserVersion: name(e.BrowserVersion), OS: name(e.OS), OSVersion: name(e.OSVersion), Device: e.Device}}
	var h hit.Hit
	a.set(&h)
	a.encoded = h.EncodeAgent()
	if im.exportAgents == nil {
		im.exportAgents = map[exportAgent]*agent{}
	}
	if len(im.exportAgents) < maxExportAgents {
		im.exportAgents[key] = a
	}
	return a
}

// exported puts what an export says of a hit into it. It returns the kind of bot that it speaks of, or the given one.
func (im *importing) exported(e *importer.Export, h *hit.Hit, botKind string) string {
	switch {
	case e.Engagement:
		h.Kind, h.EngagedMs = hit.Engagement, e.EngagedMs
	case e.Event != "":
		h.Kind, h.Name = hit.Event, name(e.Event)
	default:
		h.Kind = hit.Pageview
	}
	if e.Device == "bot" || e.Bot && botKind == "" {
		botKind = bot.KindAgent
	}
	h.Title = name(e.Title)
	h.Country, h.RegionCode, h.Region, h.City = e.Country, e.RegionCode, name(e.Region), name(e.City)
	h.Language = dialect.Language(e.Language)
	width, _, _ := strings.Cut(strings.NewReplacer("x", ",", "X", ",").Replace(e.Screen), ",")
	if n, err := strconv.ParseFloat(strings.TrimSpace(width), 64); err == nil && n >= 1 && n <= 20_000 {
		h.ScreenWidth = int(n)
	}
	h.Props = dialect.Props(e.Props)
	return botKind
}

// name is a text of an export within the limits of one that a tracker sends.
func name(text string) string { return pageurl.Cut(pageurl.Printable(text), pageurl.MaxName) }
