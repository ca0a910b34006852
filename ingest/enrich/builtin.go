package enrich

import (
	"embed"
	"io/fs"
	"path"
	"reflect"
	"unsafe"
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
		name := path.Join("builtin", entry.Name())
		if data := embedded(builtin, name); data != nil {
			return data, entry.Name()
		}
		if data, err := fs.ReadFile(builtin, name); err == nil {
			return data, entry.Name()
		}
	}
	return nil, ""
}

// embedded returns the bytes of an embedded file where they lie in the binary, read-only. fs.ReadFile copies them, which would keep 8 MiB
// more in memory for ever; a string can't embed a file that some builds do not have. Nil when package embed keeps them in another way.
func embedded(files embed.FS, name string) []byte {
	file, err := files.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	entry := reflect.Indirect(reflect.ValueOf(info))
	if entry.Kind() != reflect.Struct {
		return nil
	}
	data := entry.FieldByName("data")
	if !data.IsValid() || data.Kind() != reflect.String || int64(data.Len()) != info.Size() {
		return nil
	}
	text := data.String()
	return unsafe.Slice(unsafe.StringData(text), len(text))
}
