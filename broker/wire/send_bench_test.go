package wire

import (
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSend compares the ways to get a range of a file in the page cache to a peer on loopback (docs/decisions/007): read into a
// buffer that is used again, checked and written, or sendfile. The CPU time is that of both ends.
func BenchmarkSend(b *testing.B) {
	const fileBytes = 64 << 20
	path := filepath.Join(b.TempDir(), "segment")
	if err := os.WriteFile(path, make([]byte, fileBytes), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for _, size := range []int64{64 << 10, 1 << 20, 8 << 20} {
		buf := make([]byte, size)
		read := func(c *net.TCPConn, at int64) error {
			if _, err := f.ReadAt(buf, at); err != nil {
				return err
			}
			_, err := c.Write(buf)
			return err
		}
		checked := func(c *net.TCPConn, at int64) error {
			if _, err := f.ReadAt(buf, at); err != nil {
				return err
			}
			if crc32.Checksum(buf, castagnoli) == 1 {
				return io.ErrUnexpectedEOF
			}
			_, err := c.Write(buf)
			return err
		}
		sendfile := func(c *net.TCPConn, at int64) error {
			if _, err := f.Seek(at, io.SeekStart); err != nil {
				return err
			}
			_, err := c.ReadFrom(io.LimitReader(f, size))
			return err
		}
		for name, send := range map[string]func(*net.TCPConn, int64) error{"read": read, "read and check": checked, "sendfile": sendfile} {
			b.Run(fmt.Sprintf("%s/KiB=%d", name, size>>10), func(b *testing.B) {
				ours, received := sink(b)
				b.SetBytes(size)
				before := processTime()
				b.ResetTimer()
				for n := range b.N {
					if err := send(ours, int64(n)*size%(fileBytes-size+1)); err != nil {
						b.Fatal(err)
					}
				}
				ours.Close()
				if got := <-received; got != int64(b.N)*size {
					b.Fatalf("%d bytes came, want %d", got, int64(b.N)*size)
				}
				b.ReportMetric((processTime()-before).Seconds()/float64(int64(b.N)*size)*1e9, "cpu-s/GB")
			})
		}
	}
}

// sink is a connection whose other end reads everything into one buffer, and says how much once it is closed.
func sink(b *testing.B) (*net.TCPConn, <-chan int64) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	received := make(chan int64, 1)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer theirs.Close()
		buf := make([]byte, 256<<10)
		var total int64
		for {
			n, err := theirs.Read(buf)
			total += int64(n)
			if err != nil {
				received <- total
				return
			}
		}
	}()
	return c.(*net.TCPConn), received
}

func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
