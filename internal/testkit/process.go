package testkit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a running program. Settings of weir in the environment of the test do not reach it.
type Process struct {
	Exited <-chan struct{} // closed when the process is gone

	cmd *exec.Cmd
	out *output
	err error // how it ended; read after Exited
}

// Command starts a program. It is killed at the end of the test, and what it printed is shown when the test failed.
func Command(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	exited := make(chan struct{})
	p := &Process{cmd: exec.Command(program, args...), out: &output{}, Exited: exited}
	p.cmd.Env = cleanEnv()
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s %s printed:\n%s", program, strings.Join(args, " "), p.Output())
		}
	})
	return p
}

// Kill ends the process at once.
func (p *Process) Kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.Exited
}

// maxOutput is how much of the end of what a process printed is returned, in bytes.
const maxOutput = 32 << 10

// Output returns the end of what the process has printed so far.
func (p *Process) Output() string {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	b := p.out.b.Bytes()
	return string(b[max(0, len(b)-maxOutput):])
}

// Printed returns a channel that is closed once the process has printed text.
func (p *Process) Printed(text string) <-chan struct{} {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	w := wanted{text, make(chan struct{})}
	p.out.wanted = append(p.out.wanted, w)
	p.out.look()
	return w.seen
}

// output collects what a process prints.
type output struct {
	mu     sync.Mutex
	b      bytes.Buffer
	wanted []wanted
}

type wanted struct {
	text string
	seen chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p)
	o.look()
	return len(p), nil
}

// look tells those who wait for a text that is there now. The caller holds mu.
func (o *output) look() {
	var still []wanted
	for _, w := range o.wanted {
		if bytes.Contains(o.b.Bytes(), []byte(w.text)) {
			close(w.seen)
		} else {
			still = append(still, w)
		}
	}
	o.wanted = still
}

// Exec runs a program for at most a minute.
func Exec(t testing.TB, program, stdin string, env []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(cleanEnv(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return out.String(), errOut.String(), err
}

// cleanEnv is the environment without settings of weir that the developer may have.
func cleanEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "WEIR_") {
			env = append(env, kv)
		}
	}
	return env
}
