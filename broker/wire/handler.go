package wire

import (
	"context"
	"net"
	"time"
)

// Handler answers requests.
type Handler interface {
	// Serve is called by one goroutine per connection, in the order in which that connection's requests came. ctx ends when the peer
	// hangs up or the server drains; an answer given then may not arrive. req.Body belongs to the handler from here on.
	Serve(ctx context.Context, req *Request) Reply
}

// Outlive returns a context for work that must not end with the connection that asked for it: others may wait for the same write. ctx is
// that of Handler.Serve. It ends when Server.Close has waited long enough.
func Outlive(ctx context.Context) context.Context {
	if server, ok := ctx.Value(serverKey{}).(context.Context); ok {
		return server
	}
	return context.WithoutCancel(ctx)
}

// serverKey is under which the context of a connection carries that of its server.
type serverKey struct{}

// Request is one framed request with its header taken off.
type Request struct {
	Key, Version  int16
	CorrelationID int32
	Body          []byte // what follows the header
	Client        Client
	Received      time.Time // when its last byte was read
	Raw           bool      // a frame without a header, which Session.Raw asked for; Body is all of it
}

// Client says who sent a request.
type Client struct {
	ID        string // client.id of the request, "" when null; untrusted
	Host      string // address without port; "local" for in-process connections
	Conn      uint64 // number of the connection, unique until restart
	Principal string // Session.Principal when the request was handed over, such as "User:ada"; "" before a log-in that is asked for
	Local     bool   // comes from within the process, or by its admin socket: may do everything
	Listener  string // Listener.Name; "" for in-process connections
	Secure    bool   // TLS, or never on a wire
	Session   *Session
}

// Reply is the answer to one request.
type Reply struct {
	// Body is what follows the response header. The slices are only read, and not after the response is written.
	Body net.Buffers
	// Wait, if not nil, blocks until the answer is known, and is used in place of Body. It is called once, on another goroutine than
	// Serve, and only while the connection lives: it must not hold what has to be released. It ends soon after ctx of Serve has ended,
	// or when the outcome is known, whichever the handler thinks right.
	Wait func() (net.Buffers, error)
	// Done, if not nil, is called once when the answer has been written or given up.
	Done func()
	// Silent requests get no answer (produce with acks=0). Wait is called nevertheless, for its error.
	Silent bool
	// PlainHeader leaves the tag section out of the response header in spite of a flexible version (ApiVersions).
	PlainHeader bool
	// Close ends the connection once the answer is written.
	Close bool
	// Err, if not nil, closes the connection instead of answering, as Kafka does for what it cannot parse.
	Err error
}
