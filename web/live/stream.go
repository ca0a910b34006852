package live

import (
	"fmt"
	"net/http"
	"time"
)

// stream writes events to one client. Each write has its own deadline, as those of the server are for short answers.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// begin lifts the server's deadlines and tells the browser when to come back.
func (s stream) begin() {
	_ = s.rc.SetReadDeadline(time.Time{}) // a writer without deadlines, as in tests, has none to lift
	s.deadline()
	_, _ = fmt.Fprintf(s.w, "retry: %d\n\n", retryMillis) // a failure shows at the next write
}

// send writes one event and reports whether the client is still there.
func (s stream) send(event []byte) bool {
	s.deadline()
	if _, err := s.w.Write(event); err != nil {
		return false
	}
	return s.rc.Flush() == nil
}

func (s stream) deadline() { _ = s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) }
