package sock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenAndDialInDeepDirectories(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  string
	}{
		{"short", ""},
		{"longer than a socket address", strings.Repeat("d", 120)},
	} {
		dir := filepath.Join(t.TempDir(), c.dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "admin.sock")
		if err := os.WriteFile(path, nil, 0o600); err != nil { // left over
			t.Fatal(err)
		}
		l, err := Listen(path)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v, want 0600", c.name, info.Mode(), err)
		}
		conn, err := Dial(t.Context(), path)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		conn.Close()
		if err := l.Close(); err != nil {
			t.Errorf("%s: close: %v", c.name, err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: the socket is still there: %v", c.name, err)
		}
	}
}
