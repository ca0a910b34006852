package report

import (
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
)

// browserVersion is the hits of people by browser and the first number of its version, where that is known.
type browserVersion struct{ join }

func (*browserVersion) Name() string  { return "browser_version" }
func (*browserVersion) PerLink() bool { return false }

func (v *browserVersion) Row(h *hit.Hit) (string, bool) {
	if h.Bot || h.Browser == "" || h.BrowserVersion == "" {
		return "", false
	}
	major, _, _ := strings.Cut(h.BrowserVersion, ".")
	return v.key(h.Browser, " ", major), true
}

// osVersion is the hits of people by system and the first two numbers of its version, where that is known.
type osVersion struct{ join }

func (*osVersion) Name() string  { return "os_version" }
func (*osVersion) PerLink() bool { return false }

func (v *osVersion) Row(h *hit.Hit) (string, bool) {
	if h.Bot || h.OS == "" || h.OSVersion == "" {
		return "", false
	}
	version := h.OSVersion
	if first := strings.IndexByte(version, '.'); first >= 0 {
		if second := strings.IndexByte(version[first+1:], '.'); second >= 0 {
			version = version[:first+1+second]
		}
	}
	return v.key(h.OS, " ", version), true
}
