package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/weir-analytics/weir/cmd/bench"
)

// countingRow is what counting alone takes of one core, beside decoding the same hits in memory and adding each to three counters.
type countingRow struct {
	Name      string  `json:"name"`
	Hits      int     `json:"hits"`
	Bare      float64 `json:"bare_per_second_and_core"`
	Weir      float64 `json:"weir_per_second_and_core"`
	Ratio     float64 `json:"ratio"`
	CPUMicros float64 `json:"cpu_us"` // for one hit
}

// countAlone measures counting for each shape of traffic, in this process.
func countAlone(ctx context.Context, dir string, progress io.Writer) ([]countingRow, error) {
	var rows []countingRow
	for i, shape := range bench.Shapes() {
		fmt.Fprintf(progress, "counting %d hits of: %s\n", shape.Hits, shape.Name)
		c, err := bench.Count(ctx, filepath.Join(dir, fmt.Sprintf("counting-%d", i)), shape)
		if err != nil {
			return nil, fmt.Errorf("counting, %s: %w", shape.Name, err)
		}
		hits := float64(c.Hits)
		rows = append(rows, countingRow{Name: shape.Name, Hits: c.Hits, Bare: hits / c.Bare.Seconds(), Weir: hits / c.CPU.Seconds(),
			Ratio: c.Bare.Seconds() / c.CPU.Seconds(), CPUMicros: float64(c.CPU.Microseconds()) / hits})
	}
	return rows, nil
}

func printCounting(w io.Writer, rows []countingRow) {
	if len(rows) == 0 {
		return
	}
	t := table{head: []string{"COUNTING, A SECOND AND CORE", "HITS", "DECODED AND ADDED", "WEIR", "RATIO", "CPU A HIT"}}
	for _, row := range rows {
		t.add(row.Name, fmt.Sprint(row.Hits), fmt.Sprintf("%.0f", row.Bare), fmt.Sprintf("%.0f", row.Weir), fmt.Sprintf("%.3f", row.Ratio),
			fmt.Sprintf("%.2f us", row.CPUMicros))
	}
	t.print(w)
	fmt.Fprintln(w)
}
