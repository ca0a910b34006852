package cmd

import (
	"os"
	"testing"

	"github.com/weir-analytics/weir/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}
