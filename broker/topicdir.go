package broker

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/state"
)

const (
	topicFile     = "topic.json"
	deletedSuffix = ".deleted"
)

// topicDoc is the contents of topic.json.
type topicDoc struct {
	Name       string `json:"name"`
	Partitions int32  `json:"partitions"`
}

// readTopicFile reads topic.json in the directory of a topic.
func readTopicFile(dir string) (doc topicDoc, err error) {
	b, err := vfs.ReadFile(vfs.ReadOnly{}, path.Join(dir, topicFile), fileLimit)
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	return doc, err
}

// nameTopic writes topic.json, by which tools that read the files of a stopped node know whose partitions they are.
func (d *dataDir) nameTopic(t state.Topic) error {
	text, err := json.Marshal(topicDoc{t.Name, t.Partitions})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	d.naming.Lock()
	defer d.naming.Unlock()
	dir := d.topic(t.ID)
	if old, err := vfs.ReadFile(d.fs, path.Join(dir, topicFile), fileLimit); err == nil && string(old) == string(text) {
		return nil
	}
	return vfs.WriteFile(d.fs, dir, topicFile, text)
}

// nameTopic writes topic.json anew where partitions of the topic are.
func (e *engines) nameTopic(t state.Topic) error {
	var errs []error
	for _, dir := range e.dirs.all {
		if dir.state() != nil {
			continue
		}
		if _, err := dir.fs.List(dir.topic(t.ID)); err == nil {
			errs = append(errs, dir.nameTopic(t))
		}
	}
	return errors.Join(errs...)
}

// removeTopic removes the closed partitions of a deleted topic, in each directory under another name first: what a crash leaves is then known
// to be garbage.
func (e *engines) removeTopic(t state.Topic, partitions []engineSpec) error {
	var errs []error
	for _, dir := range e.dirs.all {
		if err := dir.state(); err != nil {
			errs = append(errs, fmt.Errorf("data directory %s: what it holds of the topic stays there: %w", dir.path, err))
			continue
		}
		at := dir.topic(t.ID)
		err := dir.fs.Rename(at, at+deletedSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, spec := range partitions {
			cfg := e.config(spec, dir)
			cfg.Dir = path.Join(at+deletedSuffix, strconv.Itoa(int(spec.Partition)))
			err = errors.Join(err, replica.Remove(cfg))
		}
		errs = append(errs, err, dir.fs.RemoveAll(at+deletedSuffix))
	}
	for _, spec := range partitions {
		e.dirs.forget(spec.group())
		errs = append(errs, e.hard.Forget(spec.group())) // also of one that lies on a disk that can't be used
	}
	return errors.Join(errs...)
}

// sweep finishes removals that a crash cut short and names directories that no topic claims.
func (e *engines) sweep(s *state.State) {
	claimed := make(map[string]bool)
	for _, t := range s.Topics {
		claimed[hex.EncodeToString(t.ID[:])] = true
	}
	for _, dir := range e.dirs.all {
		if dir.state() != nil {
			continue
		}
		if err := e.sweepDir(dir, claimed); err != nil {
			e.log.Error("clear up a data directory", "dir", dir.path, "err", err)
		}
	}
}

func (e *engines) sweepDir(dir *dataDir, claimed map[string]bool) error {
	root := path.Join(dir.path, "topics")
	names, err := dir.fs.List(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, name := range names {
		at := path.Join(root, name)
		switch {
		case strings.HasSuffix(name, deletedSuffix):
			if err := dir.fs.RemoveAll(at); err != nil {
				return fmt.Errorf("remove what a deleted topic left: %w", err)
			}
		case !claimed[name]:
			e.log.Warn("a directory belongs to no topic and is left alone; remove it if its topic was deleted", "dir", at)
		}
	}
	return nil
}
