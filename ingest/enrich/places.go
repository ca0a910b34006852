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
	kind kind
	file string // "" means the built-in database, or none
	log  *slog.Logger
	now  func() time.Time

	current atomic.Pointer[loaded]

	pending fileState // of Run: the file as it looked last
	saidOld *database // of Run: which one was named old
}

// kind is what a database is for.
type kind struct {
	name  string // for people
	flag  string
	lacks string // what is not known without it
	needs string
	has   func(*Place) bool
}

var (
	placesKind   = kind{"country database", "--geoip", "countries are unknown", "countries; a Country or City database is needed", func(p *Place) bool { return p.Country != "" }}
	networksKind = kind{"ASN database", "--geoip-asn", "autonomous systems are unknown", "autonomous systems; an ASN database is needed", func(p *Place) bool { return p.ASN != 0 }}
)

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
	p := &Places{kind: placesKind, file: file, log: log, now: now}
	if file == "" {
		p.current.Store(p.loadBuiltin())
		return p
	}
	p.current.Store(&loaded{})
	p.reload()
	return p
}

// OpenNetworks is OpenPlaces for a database of autonomous systems. There is none built in.
func OpenNetworks(file string, now func() time.Time, log *slog.Logger) *Places {
	p := &Places{kind: networksKind, file: file, log: log, now: now}
	p.current.Store(&loaded{})
	if file != "" {
		p.reload()
	}
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
			p.look()
			p.flatten()
		}
	}
}

// look loads a file that has changed once it has stopped changing: one that is being written in place may be the head of a file and the tail of another.
// Without a database it does not wait. It also says when the database in use has become old.
func (p *Places) look() {
	current := p.current.Load()
	var now fileState
	if info, err := os.Stat(p.file); err == nil {
		now = fileState{size: info.Size(), changed: info.ModTime()}
	}
	settled := now == p.pending || current.db == nil
	p.pending = now
	if settled {
		p.reload()
	}
	if current = p.current.Load(); current.db != nil && isOld(current.status.Built, p.now()) {
		p.sayOld(current.db, current.status)
	}
}

// sayOld names the database in use old, once.
func (p *Places) sayOld(db *database, status PlacesStatus) {
	if p.saidOld == db {
		return
	}
	p.saidOld = db
	p.log.Warn("the "+p.kind.name+" is old: what it says may be wrong; get a newer one", "source", status.Source, "built", status.Built.Format(time.DateOnly))
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
	db, err := openDatabase(data, p.kind)
	if err != nil {
		return &loaded{status: PlacesStatus{Error: err.Error()}}
	}
	return p.accept(db, "built-in "+name, fileState{})
}

// reload loads the file when it is another one than at the last attempt. What is in use stays in use when the new file is not usable.
func (p *Places) reload() {
	before := p.current.Load()
	data, seen, err := p.readIfChanged(before.seen)
	if err == nil && data == nil {
		return
	}
	var db *database
	if err == nil {
		db, err = openDatabase(data, p.kind)
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
		p.sayOld(db, status)
	} else {
		p.log.Info(p.kind.name+" in use", "source", source, "type", status.Type, "built", status.Built.Format(time.DateOnly))
	}
	return &loaded{db: db, status: status, seen: seen}
}

// refuse keeps what is in use and says why the file was not taken, once per reason and version of the file.
func (p *Places) refuse(before *loaded, seen fileState, err error) {
	status := before.status
	status.Error = err.Error()
	if status.Error != before.status.Error || seen != before.seen {
		p.log.Warn(p.kind.name+" not usable; it is tried again when the file changes", "file", p.file, "err", err, "in_use", before.db != nil)
	}
	p.current.Store(&loaded{db: before.db, status: status, seen: seen})
}

func isOld(built, now time.Time) bool { return !built.IsZero() && now.Sub(built) > oldDatabase }

// readIfChanged reads a file unless it is the version already seen; then data is nil.
func (p *Places) readIfChanged(seen fileState) (data []byte, now fileState, err error) {
	file := p.file
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s; %s until it appears", file, p.kind.lacks)
		}
		return nil, fileState{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileState{}, fmt.Errorf("look at the %s: %w", p.kind.name, err)
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
		return nil, now, fmt.Errorf("read the %s: %w", p.kind.name, err)
	}
	if info, err := f.Stat(); err != nil || now != (fileState{size: info.Size(), changed: info.ModTime()}) || int64(len(data)) != now.size {
		return nil, fileState{}, fmt.Errorf("%s is being written", file)
	}
	if data == nil {
		data = []byte{}
	}
	return data, now, nil
}
