package api

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// docs/kafka.md lists what is advertised and which settings topics have; both tables must be what the code says.
func TestDocsListWhatIsAdvertised(t *testing.T) {
	text, err := os.ReadFile("../../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	h := &Handler{}
	for _, k := range h.list() {
		row := fmt.Sprintf("| %s | %d | %d-%d |", kmsg.NameForKey(k.num), k.num, k.min, k.max)
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/kafka.md has no row %q", row)
		}
	}
	for _, k := range topicKeys {
		row := fmt.Sprintf("| `%s` | %s |", k.name, k.value)
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/kafka.md has no row %q", row)
		}
	}
}
