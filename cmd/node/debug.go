package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// debugServer serves Go's profiles to whoever reaches it, so it is off unless asked for.
type debugServer struct{ listener net.Listener }

func openDebug(addr string) (*debugServer, error) {
	if addr == "" {
		return &debugServer{}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--debug-http %s: %w", addr, err)
	}
	return &debugServer{l}, nil
}

func (d *debugServer) run(ctx context.Context) error {
	if d.listener == nil {
		<-ctx.Done()
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve profiles: %w", err)
	}
	return nil
}

func (d *debugServer) Close() error {
	if d.listener == nil {
		return nil
	}
	if err := d.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
