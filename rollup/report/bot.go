package report

import "github.com/weir-analytics/weir/ingest/hit"

// bot is the hits of bots by kind of bot.
type bot struct{}

func (bot) Name() string  { return "bot" }
func (bot) PerLink() bool { return false }

func (bot) Row(h *hit.Hit) (string, bool) { return h.BotKind, h.Bot && h.BotKind != "" }
