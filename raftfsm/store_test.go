package raftfsm

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
)

func TestATermThatCannotBeStoredIsTriedAgainAndSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		s := &store{log: slog.New(slog.NewTextHandler(&said, nil)), closed: make(chan struct{})}
		tries := 0
		err := s.insist("term", func() error {
			if tries++; tries < 4 {
				return errors.New("no space left on device")
			}
			return nil
		})
		if err != nil || tries != 4 || strings.Count(said.String(), "no space left on device") != 3 {
			t.Errorf("%v after %d tries, said:\n%s", err, tries, said.String())
		}
	})
}

func TestCompactKeepsWhatIsLiveAndNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	if err := os.WriteFile(path+".compact", []byte("of a compaction that was cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openStore(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	secret := bytes.Repeat([]byte("0123456789abcdef"), 8)
	for i := uint64(1); i <= 200; i++ {
		if err := s.StoreLog(&raft.Log{Index: i, Term: 1, Data: secret}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.StoreLog(&raft.Log{Index: 201, Term: 1, Data: []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetUint64([]byte("CurrentTerm"), 7); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRange(1, 200); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); !bytes.Contains(b, secret) {
		t.Fatal("deleted entries leave no bytes: this test proves nothing")
	}
	if err := s.compact(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); bytes.Contains(b, secret) {
		t.Error("deleted entries are still in the file")
	}
	var log raft.Log
	if err := s.GetLog(201, &log); err != nil || string(log.Data) != "kept" {
		t.Errorf("entry 201: %q, %v", log.Data, err)
	}
	if term, err := s.GetUint64([]byte("CurrentTerm")); err != nil || term != 7 {
		t.Errorf("term %d, %v, want 7", term, err)
	}
	if err := s.StoreLog(&raft.Log{Index: 202, Term: 1}); err != nil {
		t.Errorf("after compaction: %v", err)
	}
}
