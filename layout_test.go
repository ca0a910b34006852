// Package weir_test holds the table of who may import whom (docs/architecture.md). Change the table and that page together.
package weir_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weir-analytics/weir"

// rule says what the packages of one place may import of ours, beside internal/. "x/..." means x and all below it. The longest matching
// place decides.
type rule struct {
	place string
	may   []string
	why   string
}

var table = []rule{
	{"raftfsm/command", nil, "encoded commands are bytes and plain types; whoever reads an old log needs nothing else"},
	{"raftfsm/state", []string{"raftfsm/command"}, "the state machine is pure: it applies commands and knows no disk, clock or network"},
	{"raftfsm/...", []string{"raftfsm/..."}, "the controller is read by the other rooms and reads none of them"},

	{"broker/record", nil, "record batches are bytes only"},
	{"broker/seglog", []string{"broker/record"}, "the segmented log knows nothing of raft or topics"},
	{"broker/compact", []string{"broker/record", "broker/seglog"}, "the cleaner works on segments"},
	{"broker/replica", []string{"broker/record", "broker/seglog", "broker/compact", "raftfsm/transport", "raftfsm/hardstate"}, "a replica is one raft group over one log; it knows no topics and no clients"},
	{"broker/led/...", []string{"broker/record", "broker/led"}, "what coordinators have in common knows nothing of groups and transactions"},
	{"broker/group", []string{"broker/record", "broker/led", "raftfsm/state"}, "coordinators reach the log through interfaces that they declare, and never each other"},
	{"broker/txn", []string{"broker/record", "broker/led", "raftfsm/state"}, "coordinators reach the log through interfaces that they declare, and never each other"},
	{"broker/quota", []string{"broker/record", "raftfsm/state"}, "it reaches the log through interfaces that it declares"},
	{"broker/acl", []string{"broker/record", "raftfsm/state"}, "it reaches the log through interfaces that it declares"},
	{"broker/meter", []string{"broker/record", "raftfsm/state"}, "it reaches the log through interfaces that it declares"},
	{"broker/wire", nil, "the listener only frames requests for a Handler that it declares"},
	{"broker/api", []string{"broker/wire", "broker/record", "broker/seglog", "broker/compact", "broker/replica", "broker/group", "broker/txn", "broker/led", "broker/quota", "broker/acl", "broker/meter", "raftfsm/..."}, "requests come from the listener and are answered from what is below; the broker itself is above"},
	{"broker", []string{"broker/...", "raftfsm/..."}, "the log serves hits, counters and strangers alike and knows none of them"},

	{"ingest/hit", nil, "whoever reads hits needs only this package"},
	{"ingest/...", []string{"ingest/...", "raftfsm/state"}, "ingest appends through an Appender that it declares; the log may be another one"},

	{"rollup/delta", nil, "whoever reads deltas needs only this package"},
	{"rollup/bucket", nil, "whoever reads cells needs only this package"},
	{"rollup/ring", nil, "the ring is pure"},
	{"rollup/...", []string{"rollup/...", "ingest/hit", "ingest/bot", "ingest/enrich", "ingest/source", "raftfsm/state"}, "counting reaches the log as any Kafka client does"},

	{"web/...", []string{"web/...", "rollup", "rollup/bucket", "rollup/zone", "ingest/hit", "ingest/clientip", "ingest/importer", "raftfsm/...", "dashboards"}, "pages and API read the counts; hits reach ingest as a plain http.Handler"},
	{"dashboards", nil, "it only embeds the built front end"},

	{"cmd/...", []string{"..."}, "one node is put together here"},
	{"internal/...", nil, "helpers know no room"},
	{"clients/...", nil, "a module of its own: foreign clients reach the binary as its users do"},
}

func TestEachRoomImportsOnlyWhatTheTableAllows(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin" || name == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			checkFile(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	pkg := filepath.ToSlash(filepath.Dir(path))
	r, ok := ruleFor(pkg)
	if !ok {
		t.Errorf("%s: no rule for package %s: add it to the table here and in docs/architecture.md", path, pkg)
		return
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		ours, ok := strings.CutPrefix(imported, module+"/")
		if !ok || matches("internal/...", ours) {
			continue
		}
		if !slices.ContainsFunc(r.may, func(place string) bool { return matches(place, ours) }) {
			t.Errorf("%s imports %s, and %s may import of ours only %v: %s", path, ours, pkg, r.may, r.why)
		}
	}
}

func ruleFor(pkg string) (best rule, ok bool) {
	for _, r := range table {
		if matches(r.place, pkg) && (!ok || len(strings.TrimSuffix(r.place, "/...")) > len(strings.TrimSuffix(best.place, "/..."))) {
			best, ok = r, true
		}
	}
	return best, ok
}

func matches(place, pkg string) bool {
	if place == "..." {
		return true
	}
	if dir, deep := strings.CutSuffix(place, "/..."); deep {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pkg == place
}
