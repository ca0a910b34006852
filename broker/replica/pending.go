package replica

import (
	"sync"

	"github.com/weir-analytics/weir/broker/record"
)

// Appended is where a batch is in the log.
type Appended struct {
	BaseOffset int64
	LogStart   int64
	// LogAppendTimeMs is the time of all records, -1 for topics that keep the
	// producer's times.
	LogAppendTimeMs int64
	// Duplicate says that the batch was there already and was not written
	// again.
	Duplicate bool
}

// Pending is a batch on its way into the log.
type Pending struct {
	done chan struct{}
	once sync.Once
	res  Appended
	err  error

	batch  []byte
	head   record.Batch
	marker *Marker    // nil for a batch of records
	since  int64      // see AppendVerified, noOffset when nobody was asked
	held   int64      // bytes of room held
	twins  []*Pending // retries of the same batch, guarded by Replica.mu
}

// Done is closed when Result is ready.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Result waits for and returns where the batch is, or an error: see errors.go
// for which of them mean that it is certainly not in the log.
func (p *Pending) Result() (Appended, error) {
	<-p.done
	return p.res, p.err
}

func (p *Pending) finish(res Appended, err error) {
	p.once.Do(func() {
		p.res, p.err = res, err
		p.batch = nil
		close(p.done)
	})
}
