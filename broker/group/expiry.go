package group

import "time"

// expire forgets offsets that nobody has used for the retention, and a group of which nothing is left.
//
// The time of an offset runs while its group is empty, from the later of the commit and the moment when the last member went.
// In a group that keeps only offsets it runs from the commit. In a stable group of consumers it runs for topics to which no
// member is subscribed any more.
func (g *group) expire(now time.Time) {
	if g.state == dead {
		return
	}
	counted, subscribed := g.expiryRule()
	if !counted {
		return
	}
	kept := 0
	old := g.targets(func(tp topicPartition, s *slot) bool {
		gone := s.writes == 0 && len(s.staged) == 0 && !subscribed[tp.topic] && g.expiredOffset(now, s.committed)
		if !gone {
			kept++
		}
		return gone
	})
	if g.state == empty && kept == 0 && len(g.pending) == 0 && g.writes == 0 {
		g.env.metrics.expiredOffsets.Add(float64(len(old)))
		g.delete(now, func(err error) { g.logExpiry(len(old), err) })
		return
	}
	if len(old) > 0 {
		g.env.metrics.expiredOffsets.Add(float64(len(old)))
		g.forget(now, old, func(_ time.Time, err error) { g.logExpiry(len(old), err) })
	}
}

func (g *group) logExpiry(n int, err error) {
	if err != nil {
		g.env.log.Warn("expired offsets were not removed, tried again later", "group", g.id, "offsets", n, "err", err)
		return
	}
	g.env.log.Info("expired offsets removed", "group", g.id, "offsets", n)
}

// expiryRule says whether time runs for any offsets of the group now, and which topics are exempt.
func (g *group) expiryRule() (counted bool, exempt map[string]bool) {
	switch {
	case g.state == empty:
		return true, nil
	case g.state == stable:
		topics, ok := g.subscriptions()
		return ok, topics
	default:
		return false, nil
	}
}

func (g *group) expiredOffset(now time.Time, o *offset) bool {
	if o == nil {
		return false
	}
	if o.expiresMs != noExpiry {
		return now.UnixMilli() >= o.expiresMs
	}
	since := time.UnixMilli(o.committedMs)
	if g.state == empty && g.protocolType != "" && g.stateSince.After(since) {
		since = g.stateSince
	}
	return now.Sub(since) >= g.env.cfg.OffsetsRetention
}
