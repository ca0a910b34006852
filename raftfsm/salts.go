package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// saltsEvery is how often the leader looks whether a new day needs a salt. Salts are two days ahead, so a late look harms nobody; a salt
// that is over should go soon after midnight.
const saltsEvery = time.Minute

func invalid(field, format string, args ...any) error {
	return state.ErrInvalid{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// loadZone finds a zone by its IANA name. "Local" is refused, because it means another zone on another machine.
func loadZone(name string) (*time.Location, error) {
	const want = "want a name such as Europe/Berlin, America/New_York or UTC"
	if name == "" || name == "Local" {
		return nil, invalid("timezone", "%q is no time zone: %s", name, want)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, invalid("timezone", "%q is no time zone that this machine knows: %s", name, want)
	}
	return zone, nil
}

// saltsFor draws the salts that a site in the named zone needs beyond those agreed on.
func (c *Controller) saltsFor(timezone string) (command.Salts, error) {
	zone, err := loadZone(timezone)
	if err != nil {
		return nil, err
	}
	missing, _ := c.State().SaltChanges(state.NeededDays(c.cfg.Now(), []*time.Location{zone}))
	return drawSalts(missing), nil
}

// agreeSalts brings the salts up to the present day. Every node wipes those that are over from its disk once it has applied that.
func (c *Controller) agreeSalts(ctx context.Context) error {
	c.saltsMu.Lock()
	defer c.saltsMu.Unlock()
	s := c.State()
	var zones []*time.Location
	for _, site := range s.Sites {
		if zone, err := loadZone(site.Timezone); err == nil {
			zones = append(zones, zone)
		} else {
			c.cfg.Log.Warn("the zone of a site is not known here; its days are taken as UTC", "site", site.Name, "err", err)
		}
	}
	missing, over := s.SaltChanges(state.NeededDays(c.cfg.Now(), zones))
	if len(missing) == 0 && len(over) == 0 {
		return nil
	}
	cmd := command.AgreeSalts{Add: drawSalts(missing)}
	for _, day := range over {
		cmd.Erase = append(cmd.Erase, string(day))
	}
	if _, err := c.propose(ctx, cmd); err != nil {
		return err
	}
	if len(over) == 0 {
		return nil
	}
	c.cfg.Log.Info("salts erased", "days", cmd.Erase)
	return nil
}

// forget removes from this node's files whatever is no longer part of the state.
func (c *Controller) forget(ctx context.Context) error {
	err := c.wait(ctx, c.raft.Snapshot())
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return fmt.Errorf("write a snapshot without the erased salts: %w", err)
	}
	return c.store.compact()
}
