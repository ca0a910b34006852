//go:build !cgo

package clients

import "testing"

func TestConfluent(t *testing.T) {
	t.Skip("confluent-kafka-go needs cgo and a C compiler")
}
