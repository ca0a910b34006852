package bot

import "strings"

// Kinds: why a hit is a bot's. They are stored in hits, so they do not change.
const (
	KindNoAgent  = "no-agent" // the sender gave no agent string
	KindAgent    = "agent"    // the agent string names a bot, a library or a tool
	KindHeadless = "headless" // a browser without a person in front of it
	KindPreview  = "preview"  // fetched for a preview or a feed
	KindMonitor  = "monitor"  // watches sites
	KindUnlikely = "unlikely" // no browser sends such an agent string
	KindPrefetch = "prefetch" // fetched ahead of a person who may never come
	KindHead     = "head"     // only the headers were asked for
	KindDriven   = "driven"   // the browser says that a program drives it
)

// Agent judges an agent string. It returns the kind of bot, or "" for a person.
func Agent(ua string) string {
	ua = strings.TrimSpace(ua)
	if ua == "" || ua == "-" {
		return KindNoAgent
	}
	lower := strings.ToLower(ua)
	if kind := byWord(lower); kind != "" {
		return kind
	}
	if !strings.HasPrefix(lower, "mozilla/") && !strings.HasPrefix(lower, "mozilla ") {
		if isOtherClient(lower) {
			return ""
		}
		return KindAgent
	}
	return byShape(ua, lower)
}
