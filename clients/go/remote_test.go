package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// remote is a client of another language: a program that answers one JSON request per line.
type remote struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu  sync.Mutex // one request at a time
	out *bufio.Reader
}

func startRemote(t *testing.T, name string, args ...string) *remote {
	t.Helper()
	return startRemoteWith(t, nil, name, args...)
}

// startRemoteWith is startRemote with more in the environment: how to log in.
func startRemoteWith(t *testing.T, env []string, name string, args ...string) *remote {
	t.Helper()
	r := &remote{cmd: exec.Command(name, args...)}
	r.cmd.Stderr, r.cmd.Env = os.Stderr, append(os.Environ(), env...)
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReaderSize(out, 1<<20)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.in.Close()
		r.cmd.Process.Kill()
		r.cmd.Wait()
	})
	return r
}

// ask sends a request and decodes the result, unless it is nil.
func (r *remote) ask(ctx context.Context, op string, q map[string]any, result any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	q["op"] = op
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	answered := make(chan error, 1)
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	go func() {
		if _, err := r.in.Write(append(line, '\n')); err != nil {
			answered <- err
			return
		}
		line, err := r.out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &answer)
		}
		answered <- err
	}()
	select {
	case err = <-answered:
	case <-ctx.Done():
		r.cmd.Process.Kill() // or its late answer would be taken for that to the next request
		return fmt.Errorf("%s: %w", op, ctx.Err())
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", op, err)
	case answer.Error != "":
		return errors.New(answer.Error)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

func (r *remote) produce(ctx context.Context, topic string, partition int32, o produceOpts, recs []rec) error {
	return r.ask(ctx, "produce", map[string]any{"topic": topic, "partition": partition, "codec": o.Codec, "idempotent": o.Idempotent, "records": recs}, nil)
}

func (r *remote) consume(ctx context.Context, topic string, partition int32, offset int64, n int) (got []rec, err error) {
	err = r.ask(ctx, "consume", map[string]any{"topic": topic, "partition": partition, "offset": offset, "n": n}, &got)
	return got, err
}

func (r *remote) offsetAt(ctx context.Context, topic string, partition int32, at time.Time) (offset int64, err error) {
	err = r.ask(ctx, "offsetAt", map[string]any{"topic": topic, "partition": partition, "at": at.UnixMilli()}, &offset)
	return offset, err
}

func (r *remote) transact(ctx context.Context, topic, group string, txns []transaction) error {
	return r.ask(ctx, "transact", map[string]any{"topic": topic, "group": group, "txns": txns}, nil)
}

func (r *remote) member(context.Context, string, string, func(rec)) error {
	return errors.New("members of other languages are processes of their own")
}

func TestNode(t *testing.T) {
	needNode(t)
	path := program(t, "node")
	if _, err := os.Stat("../node/node_modules"); err != nil {
		t.Skip("the Node clients are not installed: npm ci in clients/node")
	}
	for script, tr := range map[string]traits{
		"kafkajs": {
			no: map[string]string{
				"codec-snappy": "kafkajs has no snappy of its own", "codec-lz4": "kafkajs has no lz4 of its own", "codec-zstd": "kafkajs has no zstd of its own",
			},
		},
		"platformatic": {no: withoutZstd(path), noOffsets: true},
	} {
		t.Run(script, func(t *testing.T) {
			file := filepath.Join("../node", script+".mjs")
			suite(t, startRemote(t, path, file, node.seed), tr, func(group, topic string) *exec.Cmd {
				return exec.Command(path, file, node.seed, "member", group, topic)
			})
		})
	}
}

// withoutZstd is for clients that use Node's own zstd, which Node 20 does not have.
func withoutZstd(node string) map[string]string {
	if out, _ := exec.Command(node, "-p", "typeof require('zlib').zstdCompressSync").Output(); strings.TrimSpace(string(out)) == "function" {
		return nil
	}
	return map[string]string{"codec-zstd": "this version of Node has no zstd, which the client takes from it"}
}

// javaPath is the class path of the Java client and of Kafka's tools.
func javaPath(t *testing.T) (java, path string) {
	t.Helper()
	java = program(t, "java")
	if _, err := os.Stat("../java/target/classes/weir/clients/Client.class"); err != nil {
		t.Skip("the Java client is not built: mvn compile in clients/java")
	}
	return java, "../java/target/classes" + string(os.PathListSeparator) + "../java/target/lib/*"
}

var jvm = []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"}

func TestJava(t *testing.T) {
	needNode(t)
	java, path := javaPath(t)
	args := append(append([]string{}, jvm...), "-cp", path, "weir.clients.Client", node.seed)
	suite(t, startRemote(t, java, args...), traits{}, func(group, topic string) *exec.Cmd {
		return exec.Command(java, append(append([]string{}, args...), "member", group, topic)...)
	})
}

// tool runs one of Kafka's command-line classes and returns what it prints.
func tool(t *testing.T, stdin string, class string, args ...string) (string, error) {
	t.Helper()
	java, path := javaPath(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, java, append(append(append([]string{}, jvm...), "-cp", path, class), args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
