package enrich

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed builtin
var builtin embed.FS

// builtinDatabase returns the database inside the binary and its name, nil when the binary was built without one.
func builtinDatabase() (data []byte, name string) {
	entries, err := fs.ReadDir(builtin, "builtin")
	if err != nil {
		return nil, ""
	}
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".mmdb" {
			continue
		}
		if data, err := fs.ReadFile(builtin, path.Join("builtin", entry.Name())); err == nil {
			return data, entry.Name()
		}
	}
	return nil, ""
}
