package stats

import (
	"encoding/json"
	"testing"
)

func TestMeasuresAreAveragesOfTheRow(t *testing.T) {
	for _, tc := range []struct {
		name string
		row  Row
		want string
	}{
		{"nothing is left out whole", Row{Hits: 4, Pageviews: 4}, `{}`},
		{"visits", Row{Pageviews: 7, Visits: 3, Bounces: 1, DurationMs: 286_500, EngagedMs: 61_000, ScrollSum: 140, ScrollViews: 2},
			`{"visits":3,"bounces":1,"duration_ms":286500,"engaged_ms":61000,"scroll_sum":140,"scroll_views":2,` +
				`"bounce_rate":0.3333,"views_per_visit":2.3333,"visit_seconds":95.5,"scroll_depth":70}`},
		{"a rate of nothing is told", Row{Visits: 2}, `{"visits":2,"bounce_rate":0,"views_per_visit":0,"visit_seconds":0}`},
	} {
		got, err := json.Marshal(measuresOf(tc.row))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.name, got, err, tc.want)
		}
	}
}
