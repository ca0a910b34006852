package cmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

func topicsCommand() *cobra.Command {
	c := group("topics", "List, create, describe and delete topics")
	b := brokerFlags(c)
	c.AddCommand(topicsList(b), topicsCreate(b), topicsDescribe(b), topicsDelete(b))
	return c
}

type topicRow struct {
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Records    int64  `json:"records"` // between log start and end
	Internal   bool   `json:"internal"`
}

func topicsList(b *brokerReach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the topics", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				topics, err := adm.ListTopicsWithInternal(c.Context())
				if err != nil {
					return err
				}
				starts, err := adm.ListStartOffsets(c.Context(), topics.Names()...)
				if err != nil {
					return err
				}
				ends, err := adm.ListEndOffsets(c.Context(), topics.Names()...)
				if err != nil {
					return err
				}
				var rows []topicRow
				for _, t := range topics.Sorted() {
					row := topicRow{Topic: t.Topic, Partitions: len(t.Partitions), Replicas: t.Partitions.NumReplicas(), Internal: t.IsInternal}
					for p := range t.Partitions {
						start, _ := starts.Lookup(t.Topic, p)
						end, _ := ends.Lookup(t.Topic, p)
						if start.Err == nil && end.Err == nil {
							row.Records += end.Offset - start.Offset
						}
					}
					rows = append(rows, row)
				}
				t := table{head: []string{"TOPIC", "PARTITIONS", "COPIES", "RECORDS"}}
				for _, r := range rows {
					t.add(r.Topic, strconv.Itoa(r.Partitions), strconv.Itoa(r.Replicas), number(r.Records))
				}
				return show(c, asJSON, map[string]any{"topics": rows}, t.print)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func topicsCreate(b *brokerReach) *cobra.Command {
	var partitions int32
	var copies int16
	var configs []string
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a topic", Args: exactly(1),
		Example: "  weir topics create orders --partitions 3 --set retention.ms=86400000",
		RunE: func(c *cobra.Command, args []string) error {
			if partitions < 1 {
				return usagef("--partitions: %d, at least 1 is needed", partitions)
			}
			settings := map[string]*string{}
			for _, kv := range configs {
				key, value, ok := strings.Cut(kv, "=")
				if !ok {
					return usagef("--set: %q, want KEY=VALUE such as retention.ms=86400000", kv)
				}
				settings[key] = &value
			}
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				res, err := adm.CreateTopic(c.Context(), partitions, copies, settings, args[0])
				if err := plain(err, res.ErrMessage); err != nil {
					return fmt.Errorf("create %s: %w", args[0], err)
				}
				fmt.Fprintf(c.OutOrStdout(), "created %s\n", args[0])
				return nil
			})
		},
	}
	c.Flags().Int32Var(&partitions, "partitions", 1, "number of partitions")
	c.Flags().Int16Var(&copies, "copies", -1, "replication factor; -1 takes as many copies as is right for the cluster")
	c.Flags().StringArrayVar(&configs, "set", nil, "a setting as KEY=VALUE, in Kafka's words; may be given more than once")
	return c
}

func topicsDelete(b *brokerReach) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a topic and its records", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				res, err := adm.DeleteTopic(c.Context(), args[0])
				if err := plain(err, res.ErrMessage); err != nil {
					return fmt.Errorf("delete %s: %w", args[0], err)
				}
				fmt.Fprintf(c.OutOrStdout(), "deleted %s\n", args[0])
				return nil
			})
		},
	}
}

type partitionRow struct {
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"`
	Replicas  []int32 `json:"replicas"`
	InSync    []int32 `json:"in_sync"`
	Start     int64   `json:"start"`
	End       int64   `json:"end"`
}

type topicDoc struct {
	Topic      string            `json:"topic"`
	ID         string            `json:"id"`
	Settings   map[string]string `json:"settings,omitempty"`
	Partitions []partitionRow    `json:"partitions"`
}

func topicsDescribe(b *brokerReach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "describe NAME", Short: "Show a topic's partitions and settings", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			return b.admin(c.Context(), func(adm *kadm.Client) error {
				doc, err := describeTopic(c, adm, args[0])
				if err != nil {
					return err
				}
				return show(c, asJSON, doc, doc.print)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func describeTopic(c *cobra.Command, adm *kadm.Client, name string) (topicDoc, error) {
	topics, err := adm.ListTopicsWithInternal(c.Context(), name)
	if err != nil {
		return topicDoc{}, err
	}
	detail, ok := topics[name]
	if !ok || detail.Err == kerr.UnknownTopicOrPartition {
		return topicDoc{}, fmt.Errorf("there is no topic %q; \"weir topics list\" shows them", name)
	}
	if detail.Err != nil {
		return topicDoc{}, detail.Err
	}
	starts, err := adm.ListStartOffsets(c.Context(), name)
	if err != nil {
		return topicDoc{}, err
	}
	ends, err := adm.ListEndOffsets(c.Context(), name)
	if err != nil {
		return topicDoc{}, err
	}
	doc := topicDoc{Topic: name, ID: detail.ID.String(), Settings: map[string]string{}}
	for _, p := range detail.Partitions.Sorted() {
		start, _ := starts.Lookup(name, p.Partition)
		end, _ := ends.Lookup(name, p.Partition)
		doc.Partitions = append(doc.Partitions, partitionRow{Partition: p.Partition, Leader: p.Leader, Replicas: p.Replicas, InSync: p.ISR, Start: start.Offset, End: end.Offset})
	}
	// A broker that cannot describe settings (an old one, or one that forbids it) still has partitions to show.
	if configs, err := adm.DescribeTopicConfigs(c.Context(), name); err == nil {
		for _, config := range configs {
			for _, entry := range config.Configs {
				doc.Settings[entry.Key] = entry.MaybeValue()
			}
		}
	}
	return doc, nil
}

func (d topicDoc) print(w io.Writer) {
	fmt.Fprintf(w, "%s  id %s\n\n", d.Topic, d.ID)
	t := table{head: []string{"PARTITION", "LEADER", "COPIES", "IN SYNC", "START", "END"}}
	for _, p := range d.Partitions {
		t.add(number(int64(p.Partition)), number(int64(p.Leader)), numbers(p.Replicas), numbers(p.InSync), number(p.Start), number(p.End))
	}
	t.print(w)
	if len(d.Settings) == 0 {
		return
	}
	fmt.Fprintln(w)
	t = table{head: []string{"SETTING", "VALUE"}}
	for _, key := range slices.Sorted(maps.Keys(d.Settings)) {
		t.add(key, d.Settings[key])
	}
	t.print(w)
}

func numbers(ns []int32) string {
	var parts []string
	for _, n := range ns {
		parts = append(parts, strconv.Itoa(int(n)))
	}
	return strings.Join(parts, ",")
}
