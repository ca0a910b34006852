package replica

import (
	"errors"
	"fmt"
	"time"
)

// closeWait bounds how long Close waits for batches under way. A disk that
// takes longer has stopped.
const closeWait = 10 * time.Second

// Close lets batches under way finish, stops the group, stores a checkpoint
// and closes the log cleanly. Batches still in the queue are refused.
func (r *Replica) Close() error {
	r.closeOnce.Do(func() { r.closeErr = r.close() })
	return r.closeErr
}

func (r *Replica) close() error {
	err := fmt.Errorf("%w: it was closed", ErrStopped)
	clean := r.stopped.CompareAndSwap(nil, &err)
	r.readable.Store(false)
	r.cancel(err)
	r.wg.Wait() // nothing new is proposed from here on
	wait := time.NewTimer(closeWait)
	defer wait.Stop()
	select {
	case <-r.completed:
	case <-r.dead:
	case <-wait.C:
	}
	r.setLeadership(&leadership{nodeID: -1, epoch: r.leadership().epoch})
	var errs []error
	if err := r.shutdown().Error(); err != nil {
		errs = append(errs, err)
	}
	r.giveUpWaiting()
	close(r.notices) // raft has ended
	<-r.watcher
	if !clean {
		return errors.Join(append(errs, r.log.Abandon())...)
	}
	return errors.Join(append(errs, r.checkpoint(), r.log.Close())...)
}
