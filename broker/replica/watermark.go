package replica

import "sync"

// changes lets any number of goroutines wait for the next change. A channel is
// only made when somebody asks.
type changes struct {
	mu sync.Mutex
	ch chan struct{}
}

// next returns a channel that is closed at the next notify.
func (c *changes) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ch == nil {
		c.ch = make(chan struct{})
	}
	return c.ch
}

func (c *changes) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ch != nil {
		close(c.ch)
		c.ch = nil
	}
}
