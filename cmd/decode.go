package cmd

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/tally"
)

// printedRecord is one line of weir consume.
type printedRecord struct {
	Topic     string            `json:"topic"`
	Partition int32             `json:"partition"`
	Offset    int64             `json:"offset"`
	Time      time.Time         `json:"time"`
	Key       *string           `json:"key"`
	Headers   map[string]string `json:"headers,omitempty"`
	Value     any               `json:"value"`
	Base64    bool              `json:"base64,omitempty"` // value is base64 of bytes that are neither JSON nor text
	Error     string            `json:"error,omitempty"`  // why the value is not decoded
}

func recordDoc(r *kgo.Record) printedRecord {
	doc := printedRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp.UTC()}
	if r.Key != nil {
		key := strings.ToValidUTF8(string(r.Key), "\uFFFD")
		doc.Key = &key
	}
	for _, h := range r.Headers {
		if doc.Headers == nil {
			doc.Headers = map[string]string{}
		}
		doc.Headers[h.Key] = strings.ToValidUTF8(string(h.Value), "\uFFFD")
	}
	if r.Value == nil {
		return doc
	}
	if decode, ok := decoders[r.Topic]; ok {
		value, err := decode(r.Value)
		if err == nil {
			doc.Value = value
			return doc
		}
		doc.Error = err.Error()
	}
	doc.Value, doc.Base64 = plainValue(r.Value)
	return doc
}

// decoders turn the values of our own topics into what encoding/json writes. Topics that hold JSON need none.
var decoders = map[string]func([]byte) (any, error){
	"events": func(b []byte) (any, error) {
		var h hit.Hit
		if err := hit.Parse(b, &h); err != nil {
			return nil, err
		}
		return &h, nil
	},
	"rollup.deltas": func(b []byte) (any, error) {
		var d delta.Delta
		if err := delta.Parse(b, &d); err != nil {
			return nil, err
		}
		return &d, nil
	},
	"tally.state": func(b []byte) (any, error) { return tally.ParsePiece(b) },
}

// plainValue returns JSON as it is, text as a string, and other bytes as base64.
func plainValue(b []byte) (value any, isBase64 bool) {
	switch {
	case json.Valid(b) && utf8.Valid(b):
		return json.RawMessage(b), false
	case utf8.Valid(b):
		return string(b), false
	}
	return base64.StdEncoding.EncodeToString(b), true
}
