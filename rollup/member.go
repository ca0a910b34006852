package rollup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// memberName returns the name of this node in the consumer groups, which is kept in the directory of the table. A node that comes back
// under its name after a crash goes on at once; under another one it waits until its former self is missed.
func memberName(dir string) (string, error) {
	file := filepath.Join(dir, "member")
	text, err := os.ReadFile(file)
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the name of this node in the consumer groups: %w", err)
	}
	name := "weir-" + uuid.NewString()
	if err := os.WriteFile(file, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the name of this node in the consumer groups: %w", err)
	}
	return name, nil
}
