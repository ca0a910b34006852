package web

import (
	"net/url"
	"testing"
	"time"
)

func TestReceivedQueries(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	now := at("2026-03-01T09:00:00Z")
	for query, want := range map[string]ReceivedQuery{
		"": {Partition: -1, Since: now.Add(-time.Hour), Limit: receivedLimit},
		"topic=orders&partition=3&since=2026-03-01T08:30:00Z&until=2026-03-01T08:40:00Z&limit=5": {
			Topic: "orders", Partition: 3, Since: at("2026-03-01T08:30:00Z"), Until: at("2026-03-01T08:40:00Z"), Limit: 5},
	} {
		v, _ := url.ParseQuery(query)
		if got, err := parseReceived(v, now); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", query, got, err, want)
		}
	}
	for _, query := range []string{"partition=-1", "partition=x", "limit=0", "limit=10001", "since=yesterday", "until=9"} {
		v, _ := url.ParseQuery(query)
		if _, err := parseReceived(v, now); err == nil {
			t.Errorf("%q is taken", query)
		}
	}
}
