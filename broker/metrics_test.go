package broker

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/record"
)

func TestTheNodesMetricsTellWhatItsPartitionsStore(t *testing.T) {
	reg := prometheus.NewRegistry()
	b, ctl := start(t, func(c *Config) { c.Registry = reg })
	if _, err := ctl.CreateTopic(t.Context(), specOf("t", 1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an append", func() bool {
		_, err := b.Append(t.Context(), "t", 0, []record.Record{{Value: []byte("value")}})
		return err == nil
	})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			found[f.GetName()] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for _, name := range []string{"weir_broker_store_seconds", "weir_broker_stored_entries_total", "weir_broker_stored_bytes_total"} {
		if found[name] == 0 {
			t.Errorf("%s is %v after an append", name, found[name])
		}
	}
	for _, name := range []string{"weir_broker_cleaned_bytes_total", "weir_broker_stopped_partitions_total"} {
		if _, there := found[name]; !there {
			t.Errorf("%s is missing", name)
		}
	}
}
