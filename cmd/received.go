package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	received "github.com/weir-analytics/weir/broker/meter"
)

func receivedCommand() *cobra.Command {
	var last time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use: "received [TOPIC]", Short: "Print what the partitions of the log have taken in, by minute",
		Args: cobra.MaximumNArgs(1),
	}
	r := reachFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		a, err := r.connect()
		if err != nil {
			return err
		}
		v := url.Values{"since": {time.Now().Add(-last).UTC().Format(time.RFC3339)}}
		if len(args) == 1 {
			v.Set("topic", args[0])
		}
		var doc received.Answer
		if err := a.call(c.Context(), http.MethodGet, "/api/v1/received?"+v.Encode(), nil, &doc); err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(c.OutOrStdout()).Encode(doc)
		}
		printReceived(c.OutOrStdout(), doc)
		if doc.More {
			fmt.Fprintln(c.ErrOrStderr(), "there is more: ask for less with --last, or for one topic")
		}
		return nil
	}
	c.Flags().DurationVar(&last, "last", time.Hour, "how far to look back")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func printReceived(w io.Writer, doc received.Answer) {
	t := table{head: []string{"TOPIC", "PARTITION", "MINUTE", "FROM", "TO", "RECORDS", "BYTES", "NOTE"}}
	for _, r := range doc.Ranges {
		minute, _ := r.Minute.MarshalText()
		records, bytes, note := number(r.Records), number(r.Bytes), ""
		switch {
		case r.Unknown: // the sums are 0 and mean nothing
			records, bytes, note = "-", "-", "unknown"
		case r.Recounted:
			note = "recounted"
		}
		t.add(r.Topic, number(int64(r.Partition)), string(minute), number(r.From), number(r.To), records, bytes, note)
	}
	t.print(w)
	for _, f := range doc.Faults {
		fmt.Fprintf(w, "%s partition %d, before %s: ranges end at offset %d and go on at %d\n", f.Topic, f.Partition, f.Minute.Time().Format(time.RFC3339), f.From, f.To)
	}
}
