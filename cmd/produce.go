package cmd

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxLine bounds one record that is read from a line, in bytes: the default max.message.bytes of a topic.
const maxLine = 1 << 20

func produceCommand() *cobra.Command {
	var key, separator, codec string
	var partition int32
	var headers []string
	c := &cobra.Command{
		Use: "produce TOPIC [FILE]", Short: "Write each line of standard input, or of a file, as a record",
		Long: `Write each line of standard input, or of a file, as one record. The command returns when all records are committed; what it could not
write it reports.`,
		Example: `  echo '{"order": 17}' | weir produce orders
  weir produce orders orders.txt --key-separator :`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("name a topic, and a file or nothing for standard input")
			}
			return nil
		},
	}
	b := brokerFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		name := "-"
		if len(args) == 2 {
			name = args[1]
		}
		in, _, err := openInput(name, c.InOrStdin())
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		defer in.Close()
		opts := []kgo.Opt{kgo.DefaultProduceTopic(args[0])}
		compression, err := codecOf(codec)
		if err != nil {
			return err
		}
		opts = append(opts, kgo.ProducerBatchCompression(compression))
		if c.Flags().Changed("partition") {
			opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
		}
		record := kgo.Record{Partition: partition}
		for _, h := range headers {
			k, v, ok := strings.Cut(h, "=")
			if !ok {
				return usagef("--header: %q, want KEY=VALUE", h)
			}
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: k, Value: []byte(v)})
		}
		if key != "" {
			record.Key = []byte(key)
		}
		client, err := b.client(c.Context(), opts...)
		if err != nil {
			return err
		}
		defer client.Close()
		return produceLines(c, client, bufio.NewScanner(in), record, separator)
	}
	c.Flags().StringVar(&key, "key", "", "key of every record")
	c.Flags().StringVar(&separator, "key-separator", "", "split each line at the first of these: what is before is the key")
	c.Flags().StringVar(&codec, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	c.Flags().Int32Var(&partition, "partition", 0, "write to this partition (default: by key, or spread)")
	c.Flags().StringArrayVar(&headers, "header", nil, "a header of every record as KEY=VALUE; may be given more than once")
	return c
}

func codecOf(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	}
	return kgo.NoCompression(), usagef("--compression: %q is none of none, gzip, snappy, lz4, zstd", name)
}

// produceLines writes each line as a copy of record.
func produceLines(c *cobra.Command, client *kgo.Client, lines *bufio.Scanner, record kgo.Record, separator string) error {
	lines.Buffer(nil, maxLine)
	failed := make(chan error, 1) // the first error; later ones are dropped
	var sent int64
	for lines.Scan() {
		r := record
		value := bytes.Clone(lines.Bytes())
		if separator != "" {
			if k, v, ok := bytes.Cut(value, []byte(separator)); ok {
				r.Key, value = k, v
			}
		}
		r.Value = value
		client.Produce(c.Context(), &r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
		sent++
	}
	if err := client.Flush(c.Context()); err != nil {
		return fmt.Errorf("wait for the records to be committed: %w", err)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("write to %s: %w", client.OptValue(kgo.DefaultProduceTopic), err)
	default:
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read line %d: %w", sent+1, err)
	}
	fmt.Fprintf(c.ErrOrStderr(), "%d records written\n", sent)
	return nil
}
