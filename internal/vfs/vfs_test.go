package vfs

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path"
	"reflect"
	"testing"
)

func read(t *testing.T, f FS, name string) string {
	t.Helper()
	b, err := ReadFile(f, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBothDisksBehaveTheSame(t *testing.T) {
	for name, f := range map[string]FS{"os": OS{}, "mem": NewMem()} {
		t.Run(name, func(t *testing.T) {
			dir := path.Join(t.TempDir(), "a/b")
			must(t, f.MkdirAll(dir))
			w, err := f.Create(dir + "/x")
			must(t, err)
			_, err = w.WriteAt([]byte("hello"), 3)
			must(t, err)
			must(t, w.Truncate(6))
			must(t, w.Truncate(9))
			must(t, w.SyncData())
			if n, err := w.Size(); n != 9 || err != nil {
				t.Errorf("size %d, %v", n, err)
			}
			if got, want := read(t, f, dir+"/x"), "\x00\x00\x00hel\x00\x00\x00"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			must(t, f.Rename(dir+"/x", dir+"/y"))
			must(t, WriteFile(f, dir, "z", []byte("zz")))
			must(t, f.SyncDir(dir))
			names, err := f.List(dir)
			if want := []string{"y", "z"}; err != nil || !reflect.DeepEqual(names, want) {
				t.Errorf("got %v, %v, want %v", names, err, want)
			}
			if _, err := f.Open(dir + "/x"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
			must(t, f.Remove(dir+"/y"))
			if _, err := w.ReadAt(make([]byte, 4), 0); err != nil {
				t.Errorf("an open file must stay readable: %v", err)
			}
			must(t, w.Close())
			must(t, f.RemoveAll(dir))
			if _, err := f.List(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("d"))
	f, err := m.Create("d/a")
	must(t, err)
	_, err = f.WriteAt([]byte("one"), 0)
	must(t, err)
	must(t, f.SyncData())
	if _, err := m.Crash(nil).Open("d/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name must not survive before SyncDir: %v", err)
	}
	must(t, m.SyncDir("d"))
	_, err = f.WriteAt([]byte("two"), 2)
	must(t, err)
	if got := read(t, m.Crash(nil), "d/a"); got != "one" {
		t.Errorf("got %q", got)
	}
	if got := read(t, m.Crash(func() bool { return true }), "d/a"); got != "ontwo" {
		t.Errorf("got %q", got)
	}
	must(t, f.Truncate(1))
	must(t, f.SyncData())
	if got := read(t, m.Crash(nil), "d/a"); got != "o" {
		t.Errorf("got %q", got)
	}
}

func TestCrashMayTearAWriteBetweenSectors(t *testing.T) {
	m := NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, m.SyncDir("."))
	_, err = f.WriteAt(make([]byte, 100), 0)
	must(t, err)
	must(t, f.SyncData())
	big := make([]byte, 4*sectorSize)
	for i := range big {
		big[i] = 1
	}
	_, err = f.WriteAt(big, 100)
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	torn := false
	for range 20 {
		got := read(t, m.Crash(func() bool { return rng.IntN(2) == 0 }), "a")
		has, misses := false, false
		for _, b := range []byte(got)[100:] {
			has, misses = has || b == 1, misses || b == 0
		}
		torn = torn || has && misses
	}
	if !torn {
		t.Error("no write was torn")
	}
}

func TestHookStopsAnOperation(t *testing.T) {
	boom := errors.New("boom")
	m := NewMem()
	h := Hooked{FS: m, Before: func(op Op, name string) error {
		if op == OpSync {
			return boom
		}
		return nil
	}}
	f, err := h.Create("a")
	must(t, err)
	if err := f.SyncData(); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}
