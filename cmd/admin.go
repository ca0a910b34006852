package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/internal/sock"
)

// reach says how to reach a running node.
type reach struct {
	data  []string // as the node has them; the first one has the socket
	url   string
	token string
}

// reachFlags adds the flags that say how to reach a running node.
func reachFlags(c *cobra.Command) *reach {
	r := &reach{}
	c.PersistentFlags().StringSliceVar(&r.data, "data", []string{defaultData}, "data `directory` of the running node, the first one if it has several: the command goes through its admin socket")
	c.PersistentFlags().StringVar(&r.url, "url", "", "address of a node elsewhere, such as https://stats.example.com, instead of --data")
	c.PersistentFlags().StringVar(&r.token, "token", "", "token for --url, from: weir token add NAME --scope admin")
	return r
}

// api is a client of the HTTP API.
type api struct {
	http  *http.Client
	base  string // without a final slash
	token string
	where string // for messages
}

// first is the data directory with the admin socket.
func (r *reach) first() string {
	if len(r.data) == 0 {
		return ""
	}
	return r.data[0]
}

// connect finds the node. It does not talk to it yet.
func (r *reach) connect() (*api, error) {
	if r.url != "" {
		u, err := url.Parse(r.url)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, usagef("--url: %q is no address: want http:// or https:// and a host", r.url)
		}
		return &api{http: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}, base: strings.TrimSuffix(u.String(), "/"), token: r.token, where: u.Host}, nil
	}
	path := filepath.Join(r.first(), adminSocket)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, r.notRunning()
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := sock.Dial(ctx, path)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			return nil, r.notRunning()
		}
		return conn, err
	}
	return &api{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://weir", where: path}, nil
}

func (r *reach) notRunning() error {
	first := r.first()
	return fmt.Errorf("no node is running on the data directory %s: start one with \"weir serve --data %s\", name another directory with --data or WEIR_DATA, or a node elsewhere with WEIR_URL and WEIR_TOKEN", first, first)
}

// apiError is what the API answered instead of what was asked for.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

func (e *apiError) Error() string {
	if e.Status == http.StatusUnauthorized {
		return e.Message + " (WEIR_TOKEN or --token; make one on the node with: weir token add NAME --scope admin)"
	}
	return e.Message
}

// send makes one request and returns its answer when that has a status below 300. The caller closes its body.
func (a *api) send(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "weir/"+Version().Version)
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, a.noAnswer(err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, a.readError(res)
}

// errWentAway is returned when the connection broke after it was made: it is not known what became of the request.
var errWentAway = errors.New("the node went away before it had answered")

// noAnswer words why there is no answer, without the addresses that a person did not type.
func (a *api) noAnswer(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no node listens at %s: start it, or name its address with --url or WEIR_URL (%w)", a.where, err)
	case errors.As(err, &op) && (op.Op == "read" || op.Op == "write"):
		return fmt.Errorf("ask %s: %w (%w)", a.where, errWentAway, op.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("ask %s: %w", a.where, errWentAway)
	}
	return fmt.Errorf("ask %s: %w", a.where, err)
}

const maxErrorBody = 64 << 10 // bytes; an error of the API is far smaller, a page of some proxy may not be

func (a *api) readError(res *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	var doc struct{ Error *apiError }
	if json.Unmarshal(b, &doc) == nil && doc.Error != nil && doc.Error.Message != "" {
		doc.Error.Status = res.StatusCode
		return doc.Error
	}
	return &apiError{Status: res.StatusCode, Message: fmt.Sprintf("%s answered %s, which is no answer of weir: is that its address?", a.where, res.Status)}
}

// unavailablePatience is how long a node is asked again that says that it has done nothing yet, as one that is starting does.
const unavailablePatience = 15 * time.Second

// call sends in as JSON, unless it is nil, and decodes the answer into out, unless that is nil. It asks again for a while when the node says
// that nothing was done.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	began := time.Now()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := a.callOnce(ctx, method, path, in, out)
		var answer *apiError
		if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || answer.Code != "unavailable" || time.Since(began) > unavailablePatience {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// await waits until the node answers the API, for a request that can't be sent a second time.
func (a *api) await(ctx context.Context) error {
	return a.call(ctx, http.MethodGet, "/api/v1/attribution", nil, nil)
}

func (a *api) callOnce(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	header := http.Header{}
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
		header.Set("Content-Type", "application/json")
	}
	res, err := a.send(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", a.where, err)
	}
	return nil
}

func sitePath(name string) string { return "/api/v1/sites/" + url.PathEscape(name) }
