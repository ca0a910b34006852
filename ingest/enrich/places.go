package enrich

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Sizes and ages of databases.
const (
	maxDatabaseBytes = 1 << 30              // the largest city databases have about 150 MiB
	oldDatabase      = 400 * 24 * time.Hour // then addresses have moved enough to say so
	checkEvery       = 5 * time.Second      // how often a file is looked at for a change
)

// Places finds places by address in the database that is in use at the moment. Safe for concurrent use.
type Places struct {
	file string // "" means the built-in database
	log  *slog.Logger
	now  func() time.Time

	current atomic.Pointer[loaded]
}

// loaded is a database and what is known of it; it does not change.
type loaded struct {
	db     *database // nil when there is none
	status PlacesStatus
	seen   fileState
}

// fileState tells versions of a file apart.
type fileState struct {
	size    int64
	changed time.Time
}

// PlacesStatus says what countries come from, for operators.
type PlacesStatus struct {
	Source string    `json:"source"`          // path of the file, or "built-in NAME"; empty when there is none
	Type   string    `json:"type,omitempty"`  // as the database says
	Built  time.Time `json:"built,omitzero"`  // when its publisher made it
	Old    bool      `json:"old,omitempty"`   // built more than 400 days ago
	Error  string    `json:"error,omitempty"` // why there is no database, or why a newer file was not taken
}

// OpenPlaces loads the database in file, or the built-in one when file is empty. It does not fail: without a usable database no address
// has a place, and Status and the log say why.
func OpenPlaces(file string, now func() time.Time, log *slog.Logger) *Places {
	p := &Places{file: file, log: log, now: now}
	if file == "" {
		p.current.Store(p.loadBuiltin())
		return p
	}
	p.current.Store(&loaded{})
	p.reload()
	return p
}

// Find returns the place of an address, an empty Place when it is not known.
func (p *Places) Find(addr netip.Addr) Place {
	current := p.current.Load()
	if current.db == nil || !addr.IsValid() || addr.IsPrivate() || addr.IsLoopback() {
		return Place{}
	}
	return current.db.findFast(addr)
}

// Status returns what is in use.
func (p *Places) Status() PlacesStatus {
	status := p.current.Load().status
	status.Old = isOld(status.Built, p.now())
	return status
}

// Run builds the fast table, and loads the file again whenever it changes, appears or was not usable before, until ctx ends. It returns
// nil.
func (p *Places) Run(ctx context.Context) error {
	p.flatten()
	if p.file == "" {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.reload()
			p.flatten()
		}
	}
}

// flatten builds the fast table of a database that has none, once.
func (p *Places) flatten() {
	if current := p.current.Load(); current.db != nil && !current.db.flattened {
		current.db.flattened = true
		current.db.flatten()
	}
}

func (p *Places) loadBuiltin() *loaded {
	data, name := builtinDatabase()
	if data == nil {
		p.log.Warn("no country database: countries will be unknown; give one with --geoip FILE")
		return &loaded{status: PlacesStatus{Error: "this binary was built without a country database; give one with --geoip FILE"}}
	}
	db, err := openDatabase(data)
	if err != nil {
		return &loaded{status: PlacesStatus{Error: err.Error()}}
	}
	return p.accept(db, "built-in "+name, fileState{})
}

// reload loads the file when it is another one than at the last attempt. What is in use stays in use when the new file is not usable.
func (p *Places) reload() {
	before := p.current.Load()
	data, seen, err := readIfChanged(p.file, before.seen)
	if err == nil && data == nil {
		return
	}
	var db *database
	if err == nil {
		db, err = openDatabase(data)
	}
	if err != nil {
		p.refuse(before, seen, err)
		return
	}
	p.current.Store(p.accept(db, p.file, seen))
}

func (p *Places) accept(db *database, source string, seen fileState) *loaded {
	meta := db.reader.Metadata
	status := PlacesStatus{Source: source, Type: meta.DatabaseType, Built: time.Unix(int64(min(meta.BuildEpoch, 1<<40)), 0).UTC()}
	if isOld(status.Built, p.now()) {
		p.log.Warn("the country database is old: countries may be wrong", "source", source, "built", status.Built.Format(time.DateOnly))
	} else {
		p.log.Info("country database in use", "source", source, "type", status.Type, "built", status.Built.Format(time.DateOnly))
	}
	return &loaded{db: db, status: status, seen: seen}
}

// refuse keeps what is in use and says why the file was not taken, once per reason and version of the file.
func (p *Places) refuse(before *loaded, seen fileState, err error) {
	status := before.status
	status.Error = err.Error()
	if status.Error != before.status.Error || seen != before.seen {
		p.log.Warn("country database not usable; it is tried again when the file changes", "file", p.file, "err", err, "in_use", before.db != nil)
	}
	p.current.Store(&loaded{db: before.db, status: status, seen: seen})
}

func isOld(built, now time.Time) bool { return !built.IsZero() && now.Sub(built) > oldDatabase }

// readIfChanged reads a file unless it is the version already seen; then data is nil.
func readIfChanged(file string, seen fileState) (data []byte, now fileState, err error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s; countries are unknown until it appears", file)
		}
		return nil, fileState{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileState{}, fmt.Errorf("look at the country database: %w", err)
	}
	now = fileState{size: info.Size(), changed: info.ModTime()}
	if now == seen {
		return nil, now, nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxDatabaseBytes {
		return nil, now, fmt.Errorf("%s is not a database file of at most 1 GiB", file)
	}
	data, err = io.ReadAll(io.LimitReader(f, maxDatabaseBytes))
	if err != nil {
		return nil, now, fmt.Errorf("read the country database: %w", err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, now, nil
}
