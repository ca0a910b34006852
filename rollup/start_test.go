package rollup

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestNoCountsAreTooSmallAfterTheTableIsLost: until the table is made again nothing is answered, and the room says what it waits for.
func TestNoCountsAreTooSmallAfterTheTableIsLost(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.start()
		tr := traffic(12, 26*time.Hour)
		b.send(tr, 2000)
		b.settle()
		before, err := b.room.Query(context.Background(), Query{Site: 1})
		if err != nil {
			t.Fatal(err)
		}
		b.stop()
		if err := os.RemoveAll(b.dir); err != nil {
			t.Fatal(err)
		}
		b.start()
		deadline := time.Now().Add(time.Minute)
		for {
			ready, reason := b.room.Ready()
			answer, err := b.room.Query(context.Background(), Query{Site: 1})
			switch {
			case ready && err != nil:
				t.Fatalf("ready, and a question fails: %v", err)
			case err == nil && answer.Rows[0] != before.Rows[0]:
				t.Fatalf("answered %+v, want %+v", answer.Rows[0], before.Rows[0])
			case err != nil && !errors.Is(err, ErrBehind):
				t.Fatal(err)
			case !ready && reason == "":
				t.Fatal("not ready without a reason")
			}
			if ready {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("still not ready: %s", reason)
			}
			time.Sleep(time.Millisecond)
		}
		b.check(rand.New(rand.NewPCG(12, 12)))
	})
}
