//go:build !unix

package wire

import "net"

func socketPair() (a, b net.Conn, err error) {
	a, b = net.Pipe()
	return a, b, nil
}
