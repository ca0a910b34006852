package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// memberProcess is a member of a group in a process of its own. It prints each record as a line of JSON, and leaves when its standard input
// ends.
type memberProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.Closer
	exited chan error

	mu  sync.Mutex
	got []rec
}

// startMember starts a command that speaks as beMember does.
func startMember(t *testing.T, cmd *exec.Cmd) *memberProcess {
	t.Helper()
	p := &memberProcess{t: t, cmd: cmd, exited: make(chan error, 1)}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.in = in
	go func() {
		lines := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			var r rec
			if json.Unmarshal(line, &r) == nil && r.Value != nil {
				p.mu.Lock()
				p.got = append(p.got, r)
				p.mu.Unlock()
			} else {
				fmt.Fprintf(os.Stderr, "member: %s", line)
			}
		}
		p.exited <- cmd.Wait()
	}()
	t.Cleanup(p.die)
	return p
}

// selfAsMember is this test binary as a member.
func selfAsMember(name, group, topic string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CLIENTS_MEMBER="+name, "CLIENTS_SEED="+node.seed, "CLIENTS_GROUP="+group, "CLIENTS_TOPIC="+topic)
	return cmd
}

func beMember(name string) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	out := json.NewEncoder(os.Stdout)
	d := drivers[name](os.Getenv("CLIENTS_SEED"))
	if err := d.member(ctx, os.Getenv("CLIENTS_GROUP"), os.Getenv("CLIENTS_TOPIC"), func(r rec) { out.Encode(r) }); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "member:", err)
		return 1
	}
	return 0
}

func (p *memberProcess) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

func (p *memberProcess) values() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, r := range p.got {
		list = append(list, string(r.Value))
	}
	return list
}

// leave ends the member as its user would.
func (p *memberProcess) leave() {
	p.t.Helper()
	p.in.Close()
	select {
	case err := <-p.exited:
		p.exited <- err
		if err != nil {
			p.t.Errorf("the member that was to leave ended with: %v", err)
		}
	case <-time.After(time.Minute):
		p.t.Error("the member that was to leave still runs after a minute")
	}
}

// die kills the member, which then cannot leave.
func (p *memberProcess) die() {
	p.cmd.Process.Kill()
	err := <-p.exited
	p.exited <- err
}
