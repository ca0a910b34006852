package replica

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLog hands raft's messages from warning on to slog; what it says below
// that is of no use to an operator.
type raftLog struct{ log *slog.Logger }

var _ hclog.Logger = raftLog{}

func (l raftLog) Log(level hclog.Level, msg string, args ...any) {
	switch {
	case level >= hclog.Error:
		l.log.Log(context.Background(), slog.LevelError, "raft: "+msg, args...)
	case level == hclog.Warn:
		l.log.Log(context.Background(), slog.LevelWarn, "raft: "+msg, args...)
	}
}

func (l raftLog) Trace(string, ...any)           {}
func (l raftLog) Debug(string, ...any)           {}
func (l raftLog) Info(string, ...any)            {}
func (l raftLog) Warn(msg string, args ...any)   { l.Log(hclog.Warn, msg, args...) }
func (l raftLog) Error(msg string, args ...any)  { l.Log(hclog.Error, msg, args...) }
func (l raftLog) IsTrace() bool                  { return false }
func (l raftLog) IsDebug() bool                  { return false }
func (l raftLog) IsInfo() bool                   { return false }
func (l raftLog) IsWarn() bool                   { return true }
func (l raftLog) IsError() bool                  { return true }
func (l raftLog) ImpliedArgs() []any             { return nil }
func (l raftLog) With(args ...any) hclog.Logger  { return raftLog{l.log.With(args...)} }
func (l raftLog) Name() string                   { return "raft" }
func (l raftLog) Named(string) hclog.Logger      { return l }
func (l raftLog) ResetNamed(string) hclog.Logger { return l }
func (l raftLog) SetLevel(hclog.Level)           {}
func (l raftLog) GetLevel() hclog.Level          { return hclog.Warn }
func (l raftLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.log.Handler(), slog.LevelWarn)
}
func (l raftLog) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(o).Writer()
}
