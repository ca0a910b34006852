package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// table prints rows in columns: those whose cells are all numbers to the right, the others to the left.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	width := make([]int, len(t.head))
	right := make([]bool, len(t.head))
	for i, h := range t.head {
		width[i], right[i] = utf8.RuneCountInString(h), len(t.rows) > 0
	}
	for _, row := range t.rows {
		for i := range row {
			row[i] = printable(row[i])
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
			right[i] = right[i] && i > 0 && isNumber(row[i])
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell = pad + cell
			} else {
				cell += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// show prints a document as JSON, or what print makes of it.
func show(c *cobra.Command, asJSON bool, doc any, print func(io.Writer)) error {
	if asJSON {
		return json.NewEncoder(c.OutOrStdout()).Encode(doc)
	}
	print(c.OutOrStdout())
	return nil
}

func isNumber(s string) bool {
	if s == "" || s == "-" {
		return true
	}
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// printable writes control characters and broken UTF-8 as escapes. Pages, referrers and topic keys come from strangers, and must not
// move the cursor of whoever reads them.
func printable(s string) string {
	clean := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
	if !strings.ContainsFunc(s, clean) {
		return s
	}
	q := strconv.QuoteToGraphic(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
