package ingest

import (
	"sync"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/enrich"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/visitor"
)

// maxAgentBytes cuts agent strings; the longest of real apps have about 600 bytes.
const maxAgentBytes = 1024

// agent is all that follows from an agent string. It does not change.
type agent struct {
	text    string
	sum     uint64
	botKind string // "" for a person's
	enrich.Agent
	encoded []byte // of the fields above, for hit.Hit.SetAgent
}

// noAgent stands for a hit whose source has no field for the agent: nothing is known, so nothing is held against it.
var noAgent = &agent{}

func newAgent(text string) *agent {
	a := &agent{text: text, botKind: bot.Agent(text), Agent: enrich.ParseAgent(text)}
	if text != "" {
		a.sum = visitor.AgentSum(text)
	}
	if a.botKind != "" {
		a.Device = "bot"
		a.Browser, a.BrowserVersion = bot.Name(text), ""
	}
	var h hit.Hit
	a.set(&h)
	a.encoded = h.EncodeAgent()
	return a
}

// set puts what follows from the agent into a hit.
func (a *agent) set(h *hit.Hit) {
	h.Agent = a.text
	h.Browser, h.BrowserVersion, h.OS, h.OSVersion, h.Device = a.Browser, a.BrowserVersion, a.OS, a.OSVersion, a.Device
	h.SetAgent(a.encoded)
}

// agents remembers agents by their string, so that the rules run once per string and not once per hit. In real traffic a hundred
// strings make nine tenths of the hits. Each shard has two generations: when the younger one is full it becomes the older one, and what is
// not asked for again is forgotten with it. Fresh strings thus cost the rules, some microseconds, and never memory beyond the bound.
type agents struct {
	shards [16]agentShard
}

type agentShard struct {
	mu         sync.RWMutex
	young, old map[string]*agent
}

// shardAgents bounds one generation of one shard: 16 x 2 x 512 agents of about half a kilobyte.
const shardAgents = 512

// get returns what follows from an agent string. text may be reused by the caller.
func (c *agents) get(text []byte) *agent {
	if len(text) > maxAgentBytes {
		text = text[:maxAgentBytes]
	}
	shard := &c.shards[shardOf(text)]
	shard.mu.RLock()
	a := shard.young[string(text)]
	shard.mu.RUnlock()
	if a != nil {
		return a
	}
	return shard.miss(text)
}

func (s *agentShard) miss(text []byte) *agent {
	s.mu.RLock()
	a := s.old[string(text)]
	s.mu.RUnlock()
	key := string(text)
	if a == nil {
		a = newAgent(pageurl.Cut(pageurl.Printable(key), maxAgentBytes))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || len(s.young) >= shardAgents {
		s.young, s.old = make(map[string]*agent, shardAgents), s.young
	}
	s.young[key] = a
	return a
}

// shardOf spreads strings by their length and last bytes, which differ most between agents.
func shardOf(text []byte) int {
	n := len(text)
	if n < 8 {
		return n & 15
	}
	return (n + int(text[n-1])*5 + int(text[n-4])*3 + int(text[n/2])) & 15
}
