package cmd

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// applySettings sets each flag that the command line leaves alone from the environment or else from the configuration file. It runs before
// every command.
func applySettings(c *cobra.Command, _ []string) error {
	if c.Name() == cobra.ShellCompRequestCmd || c.Name() == cobra.ShellCompNoDescRequestCmd {
		return nil
	}
	file, err := readSettings(c)
	if err != nil {
		return usageError{err}
	}
	var failed error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Changed || !settable(f) {
			return
		}
		if value, ok := os.LookupEnv(envName(f.Name)); ok {
			failed = setFlag(c, f, value, envName(f.Name))
		} else if value, ok := file[f.Name]; ok {
			failed = setFlag(c, f, value, "--config: "+f.Name)
		}
	})
	return failed
}

func setFlag(c *cobra.Command, f *pflag.Flag, value, source string) error {
	if err := c.Flags().Set(f.Name, value); err != nil {
		return usagef("%s (sets --%s): %w", source, f.Name, err)
	}
	return nil
}

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return "WEIR_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settable reports whether a flag can come from the environment and the file. Those that say what one call is to do cannot.
func settable(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// readSettings reads the configuration file, if one is given: a flat TOML table whose keys are flag names. A key that is no flag of any
// command is refused, since it is most likely a typing error that would otherwise be found late.
func readSettings(c *cobra.Command) (map[string]string, error) {
	path, err := c.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	if path == "" {
		path = os.Getenv(envName("config"))
	}
	if path == "" {
		return nil, nil
	}
	var raw map[string]any
	if _, err := toml.DecodeFile(path, &raw); err != nil {
		return nil, fmt.Errorf("--config: %s: %w", path, err)
	}
	known := allFlags(c.Root())
	settings := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if !known[key] {
			return nil, fmt.Errorf("--config: %s: %q is no setting; they are named as the flags of weir serve", path, key)
		}
		value, err := settingText(raw[key])
		if err != nil {
			return nil, fmt.Errorf("--config: %s: %s: %w", path, key, err)
		}
		settings[key] = value
	}
	return settings, nil
}

func settingText(v any) (string, error) {
	switch v := v.(type) {
	case string, int64, float64, bool:
		return fmt.Sprint(v), nil
	case []any:
		var parts []string
		for _, e := range v {
			part, err := settingText(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("a %T is not understood: want text, a number, true, false, or a list of them", v)
}

func allFlags(c *cobra.Command) map[string]bool {
	known := map[string]bool{}
	note := func(f *pflag.Flag) { known[f.Name] = known[f.Name] || settable(f) && f.Name != "config" }
	c.Flags().VisitAll(note)
	c.PersistentFlags().VisitAll(note)
	for _, sub := range c.Commands() {
		for name, ok := range allFlags(sub) {
			known[name] = known[name] || ok
		}
	}
	return known
}
