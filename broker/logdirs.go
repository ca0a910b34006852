package broker

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weir-analytics/weir/broker/api"
)

// logDir is how a data directory is.
type logDir struct {
	path          string
	err           error // why it can't be used
	full          error // why it takes no records for want of room
	total, usable int64 // bytes of its disk, -1 when that can't be said
}

// stopDir stops the partitions of a data directory that can't be used any more. They open again by themselves when it can.
func (b *Broker) stopDir(dir string, cause error) {
	for _, p := range b.partitions() {
		if e := p.engine.Load(); e != nil && b.engines.dirOf(p.spec) == dir {
			e.Stop(fmt.Errorf("its data directory can't be used: %w", cause))
		}
	}
}

func (b *Broker) partitions() []*partition {
	var list []*partition
	for _, t := range b.view.Load().Topics {
		for _, p := range t.Partitions {
			list = append(list, p.(*partition))
		}
	}
	return list
}

// Failed lists, for the node's health, the data directories that can't be used, are full or hold partitions that do not serve, with the names
// of these, and the partitions that do not serve or that can't be read everywhere.
func (b *Broker) Failed() []error {
	var failed []error
	stopped := map[string][]string{}
	for _, p := range b.partitions() {
		err := p.trouble()
		if err == nil {
			continue
		}
		failed = append(failed, err)
		if p.failure() != nil {
			dir := b.engines.dirOf(p.spec)
			stopped[dir] = append(stopped[dir], fmt.Sprintf("%s-%d", p.spec.Topic.Name, p.spec.Partition))
		}
	}
	var disks []error
	for _, d := range b.engines.logDirs() {
		cause := d.err
		if cause == nil && d.full != nil {
			cause = fmt.Errorf("no records are taken: %w", d.full)
		}
		names := stopped[d.path]
		switch {
		case cause != nil && len(names) > 0:
			disks = append(disks, fmt.Errorf("data directory %s: %w; partitions that do not serve: %s", d.path, cause, strings.Join(names, ", ")))
		case cause != nil:
			disks = append(disks, fmt.Errorf("data directory %s: %w", d.path, cause))
		case len(names) > 0:
			disks = append(disks, fmt.Errorf("data directory %s: partitions that do not serve: %s", d.path, strings.Join(names, ", ")))
		}
	}
	return append(disks, failed...)
}

// LogDirs says what is in each data directory.
func (k backend) LogDirs() []api.LogDir {
	replicas := map[string][]api.LogDirReplica{}
	for _, p := range k.b.partitions() {
		if phase := p.Phase(); phase == api.Closed || phase == api.Gone {
			continue
		}
		dir := k.b.engines.dirOf(p.spec)
		replicas[dir] = append(replicas[dir], api.LogDirReplica{Topic: p.spec.Topic.Name, Partition: p.spec.Partition, SizeBytes: k.b.sizeOf(p)})
	}
	var list []api.LogDir
	for _, d := range k.b.engines.logDirs() {
		of := replicas[d.path]
		slices.SortFunc(of, func(a, b api.LogDirReplica) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		list = append(list, api.LogDir{Path: path.Join(d.path, "topics"), Err: d.err, TotalBytes: d.total, UsableBytes: d.usable, Replicas: of})
	}
	return list
}

// sizeOf is the size of a partition, also of one that is stopped.
func (b *Broker) sizeOf(p *partition) int64 {
	if e := p.engine.Load(); e != nil {
		return e.SizeBytes()
	}
	return b.engines.sizeOf(p.spec)
}
