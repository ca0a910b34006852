package ingest

import (
	"net/http"
	"strings"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/enrich"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// hintHeaders are the client hints that are kept, by the name that net/http gives the header and the one that is stored.
var hintHeaders = []struct{ canonical, stored string }{
	{"Sec-Ch-Ua", "sec-ch-ua"},
	{"Sec-Ch-Ua-Mobile", "sec-ch-ua-mobile"},
	{"Sec-Ch-Ua-Platform", "sec-ch-ua-platform"},
	{"Sec-Ch-Ua-Platform-Version", "sec-ch-ua-platform-version"},
	{"Sec-Ch-Ua-Full-Version-List", "sec-ch-ua-full-version-list"},
	{"Sec-Ch-Ua-Model", "sec-ch-ua-model"},
	{"Sec-Ch-Ua-Form-Factors", "sec-ch-ua-form-factors"},
}

const maxHint = 300

// hints returns the client hints of a request, nil when there are none.
func hints(header http.Header) map[string]string {
	var kept map[string]string
	for _, h := range hintHeaders {
		if values := header[h.canonical]; len(values) > 0 && values[0] != "" {
			if kept == nil {
				kept = make(map[string]string, 4)
			}
			kept[h.stored] = pageurl.Cut(pageurl.Printable(values[0]), maxHint)
		}
	}
	return kept
}

// applyHints corrects what the agent string says by what the hints say.
func applyHints(h *hit.Hit, header http.Header) {
	brands := header["Sec-Ch-Ua"]
	if len(brands) == 0 {
		return
	}
	h.SetAgent(nil)
	if strings.Contains(brands[0], "HeadlessChrome") {
		h.Bot, h.BotKind = true, bot.KindHeadless
	}
	if form, model := header["Sec-Ch-Ua-Form-Factors"], header["Sec-Ch-Ua-Model"]; (len(form) > 0 || len(model) > 0) && !h.Bot {
		if kind := enrich.Device(first(form), first(model)); kind != "" {
			h.Device = kind
		}
	}
	if name, version := enrich.Brand(brands[0], h.Browser); name != "" {
		h.Browser, h.BrowserVersion = name, version
	}
	if values := header["Sec-Ch-Ua-Platform-Version"]; len(values) > 0 {
		if version := enrich.SystemVersion(values[0], h.OS); version != "" {
			h.OSVersion = version
		}
	}
}
