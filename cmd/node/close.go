package node

import "errors"

// Close releases what Open took, from the top to the bottom. Call it once Run has returned, or instead of Run.
func (n *Node) Close() error {
	var errs []error
	if n.debug != nil {
		errs = append(errs, n.debug.Close())
	}
	if n.web != nil {
		errs = append(errs, n.web.Close())
	}
	if n.rollup != nil {
		errs = append(errs, n.rollup.Close())
	}
	if n.broker != nil {
		errs = append(errs, n.broker.Close())
	}
	if n.outside != nil {
		errs = append(errs, n.outside.Close())
	}
	if n.ctl != nil {
		errs = append(errs, n.ctl.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}
