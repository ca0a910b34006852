// Package raftlog hands the log lines of hashicorp/raft to log/slog. The library thinks of one group per process and calls routine
// things "info" or "warn"; with a group per partition those would drown everything else, so they go down a level.
package raftlog

import (
	"context"
	"io"
	"log"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// routine are the beginnings of warnings that a healthy group writes at each start.
var routine = []string{"heartbeat timeout reached", "no known peers", "running in single"}

// away are the beginnings of what every group says again and again while a peer is not reached, which the link to it says once, or while
// nobody leads.
var away = []string{
	"failed to heartbeat to", "failed to appendEntries to", "failed to contact", "failed to make requestVote", "failed to make RequestPreVote", "failed to send snapshot to",
	"Election timeout reached", "appendEntries rejected", "rejecting pre-vote", "rejecting vote", "duplicate requestVote", "not part of stable", "new leader elected",
	"peer has newer term", "clearing log suffix", "previous log term", "failed to get previous log", "skipping application",
}

// New returns a logger for raft.Config.Logger that writes to out.
func New(out *slog.Logger) hclog.Logger { return logger{out: out} }

type logger struct {
	out     *slog.Logger
	implied []any
	name    string
}

func (l logger) Log(level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	for _, start := range away {
		if strings.HasPrefix(msg, start) {
			level = hclog.Debug
		}
	}
	switch level {
	case hclog.Warn:
		to = slog.LevelWarn
		for _, start := range routine {
			if strings.HasPrefix(msg, start) {
				to = slog.LevelDebug
			}
		}
	case hclog.Error:
		to = slog.LevelError
	}
	if !l.out.Enabled(context.Background(), to) {
		return
	}
	l.out.Log(context.Background(), to, "raft: "+msg, args...)
}

func (l logger) Trace(msg string, args ...any) {}
func (l logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l logger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l logger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l logger) IsTrace() bool { return false }
func (l logger) IsDebug() bool { return l.out.Enabled(context.Background(), slog.LevelDebug) }
func (l logger) IsInfo() bool  { return l.IsDebug() }
func (l logger) IsWarn() bool  { return l.out.Enabled(context.Background(), slog.LevelWarn) }
func (l logger) IsError() bool { return l.out.Enabled(context.Background(), slog.LevelError) }

func (l logger) ImpliedArgs() []any { return l.implied }
func (l logger) With(args ...any) hclog.Logger {
	return logger{out: l.out.With(args...), implied: append(l.implied[:len(l.implied):len(l.implied)], args...), name: l.name}
}
func (l logger) Name() string { return l.name }
func (l logger) Named(name string) hclog.Logger {
	return logger{out: l.out, implied: l.implied, name: name}
}
func (l logger) ResetNamed(name string) hclog.Logger { return l.Named(name) }
func (l logger) SetLevel(hclog.Level)                {}
func (l logger) GetLevel() hclog.Level {
	if l.IsDebug() {
		return hclog.Debug
	}
	return hclog.Warn
}
func (l logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.out.Handler(), slog.LevelDebug)
}
func (l logger) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(o).Writer()
}
