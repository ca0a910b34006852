package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weir-analytics/weir/web/reply"
)

// kafkaProtocol is what a caller asks to go on with in the header Upgrade.
const kafkaProtocol = "kafka"

// errOtherLog is told to those who ask for what only the built-in log has.
var errOtherLog = reply.NotFound("the log of this node is another Kafka cluster (--kafka-brokers): use its own tools, or name its brokers with --brokers")

// kafka turns the connection of an administrator into one to the log, in the Kafka protocol, that may do everything: commands work through
// it whatever the Kafka listeners ask of strangers. The parameter host is the broker that the client means to reach, this one when empty.
func (s *Server) kafka(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Kafka == nil {
		reply.Fail(w, r, s.log, errOtherLog)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), kafkaProtocol) {
		reply.Fail(w, r, s.log, reply.Invalid("Upgrade", "this path goes on in the Kafka protocol: send Connection: Upgrade and Upgrade: kafka"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	broker, err := s.cfg.Kafka(ctx, r.URL.Query().Get("host"))
	if err != nil {
		reply.Fail(w, r, s.log, reply.Busy(time.Second, "the log can't be reached yet: %v", err))
		return
	}
	defer broker.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		reply.Fail(w, r, s.log, fmt.Errorf("take a connection over for Kafka: %w", err))
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+kafkaProtocol+"\r\n\r\n"); err != nil {
		return
	}
	pipe(conn, buffered, broker)
}

// pipe carries bytes both ways until one side ends. in is what conn reads.
func pipe(conn net.Conn, in io.Reader, broker net.Conn) {
	done := make(chan struct{}, 2)
	carry := func(to io.Writer, from io.Reader) {
		io.Copy(to, from)
		done <- struct{}{}
	}
	go carry(broker, in)
	go carry(conn, broker)
	<-done
	conn.Close()
	broker.Close()
	<-done
}
