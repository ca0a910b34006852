package enrich

import (
	"bufio"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// corpus returns the folder of test inputs, or skips the test.
func corpus(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("WEIR_CORPUS"), "../../../shared/corpus"} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "README.md")); err == nil {
			return dir
		}
	}
	t.Skip("the corpus is not here; set WEIR_CORPUS")
	return ""
}

func open(t testing.TB, file string) *Places {
	t.Helper()
	return OpenPlaces(file, time.Now, slog.New(slog.DiscardHandler))
}

func TestPlacesAreAsTheTruthSays(t *testing.T) {
	dir := filepath.Join(corpus(t), "geoip")
	for _, name := range []string{"GeoIP2-Country-Test", "GeoLite2-Country-Test", "GeoIP2-City-Test", "GeoLite2-City-Test"} {
		places := open(t, filepath.Join(dir, "mmdb", name+".mmdb"))
		if status := places.Status(); status.Error != "" || status.Type == "" || status.Built.IsZero() {
			t.Fatalf("%s: %+v", name, status)
		}
		f, err := os.Open(filepath.Join(dir, "truth-"+name+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Scan()
		rows := 0
		for lines.Scan() {
			col := strings.Split(lines.Text(), "\t")
			addr, err := netip.ParseAddr(col[0])
			if err != nil {
				t.Fatal(err)
			}
			rows++
			got := places.Find(addr)
			if got.Country != col[1] {
				t.Errorf("%s: %s: got country %q, want %q", name, addr, got.Country, col[1])
			}
			if strings.Contains(name, "City") && got.City != col[5] {
				t.Errorf("%s: %s: got city %q, want %q", name, addr, got.City, col[5])
			}
		}
		if rows < 100 {
			t.Errorf("%s: only %d rows", name, rows)
		}
	}
}

func TestTheFastTableSaysTheSame(t *testing.T) {
	dir := filepath.Join(corpus(t), "geoip", "mmdb")
	for _, name := range []string{"GeoIP2-Country-Test.mmdb", "GeoLite2-City-Test.mmdb", ""} {
		file := name
		if name != "" {
			file = filepath.Join(dir, name)
		}
		db := open(t, file).current.Load().db
		if db == nil {
			continue
		}
		db.flatten()
		f := db.flat.Load()
		if f == nil {
			t.Fatalf("%q: no table", name)
		}
		check := func(n uint32) {
			addr := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
			if got, want := f.find(addr), db.find(addr); got != want {
				t.Fatalf("%q: %s: got %+v, want %+v", name, addr, got, want)
			}
		}
		for i, last := range f.last {
			if i%(1+len(f.last)/20_000) == 0 {
				check(last)
				check(last + 1)
				check(last - 1)
			}
		}
		for n := uint32(1); n < 50_000; n++ {
			check(n * 2654435761)
		}
	}
}

func TestDamagedDatabasesAreRefusedOrUnknown(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus(t), "geoip", "corrupt", "*.mmdb"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tryAll(data)
	}
}

// tryAll looks some addresses up in data as a database. It must end without panic.
func tryAll(data []byte) (usable bool) {
	db, err := openDatabase(data)
	if err != nil {
		return false
	}
	for _, addr := range []string{"1.1.1.1", "81.2.69.142", "216.160.83.56", "2001:218::1", "::1.1.1.1", "255.255.255.255", "::", "ffff::"} {
		db.find(netip.MustParseAddr(addr))
	}
	db.flatten()
	db.findFast(netip.MustParseAddr("81.2.69.142"))
	return true
}

func TestDatabasesCutAnywhereAreRefusedOrUnknown(t *testing.T) {
	for _, name := range []string{"GeoIP2-Country-Test.mmdb", "GeoLite2-City-Test.mmdb"} {
		data, err := os.ReadFile(filepath.Join(corpus(t), "geoip", "mmdb", name))
		if err != nil {
			t.Fatal(err)
		}
		for size := 0; size < len(data); size += 1024 {
			tryAll(data[:size])
			tryAll(data[size:])
		}
	}
}

func TestDatabasesWithoutCountriesAreRefused(t *testing.T) {
	for _, name := range []string{"GeoLite2-ASN-Test.mmdb", "GeoIP2-Anonymous-IP-Test.mmdb", "GeoIP2-Connection-Type-Test.mmdb"} {
		status := open(t, filepath.Join(corpus(t), "geoip", "mmdb", name)).Status()
		if !strings.Contains(status.Error, "no countries") {
			t.Errorf("%s: %+v", name, status)
		}
	}
}

func TestAFileThatAppearsLaterIsPickedUp(t *testing.T) {
	good, err := os.ReadFile(filepath.Join(corpus(t), "geoip", "mmdb", "GeoIP2-Country-Test.mmdb"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "geo.mmdb")
	places := open(t, file)
	addr := netip.MustParseAddr("81.2.69.142")
	if got := places.Find(addr); got.Country != "" || !strings.Contains(places.Status().Error, "no file") {
		t.Fatalf("before: %+v, %+v", got, places.Status())
	}
	write := func(data []byte, second int64) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Unix(second, 0)); err != nil {
			t.Fatal(err)
		}
		places.reload()
	}
	write(good[:5000], 1)
	if places.Find(addr).Country != "" || places.Status().Error == "" {
		t.Error("half a file was taken")
	}
	write(good, 2)
	if got := places.Find(addr); got.Country != "GB" || places.Status().Error != "" {
		t.Errorf("after: %+v, %+v", got, places.Status())
	}
	write([]byte("garbage"), 3)
	if got := places.Find(addr); got.Country != "GB" || places.Status().Error == "" {
		t.Errorf("a bad file replaced a good one: %+v, %+v", got, places.Status())
	}
}

func TestOldDatabasesAreNamedOld(t *testing.T) {
	file := filepath.Join(corpus(t), "geoip", "mmdb", "GeoIP2-Country-Test.mmdb")
	built := open(t, file).Status().Built
	for days, want := range map[int]bool{399: false, 401: true} {
		now := func() time.Time { return built.AddDate(0, 0, days) }
		if got := OpenPlaces(file, now, slog.New(slog.DiscardHandler)).Status().Old; got != want {
			t.Errorf("%d days: old = %v", days, got)
		}
	}
}

func TestTheBuiltInDatabaseIsOptional(t *testing.T) {
	places := open(t, "")
	status := places.Status()
	if data, _ := builtinDatabase(); data == nil {
		if status.Error == "" || places.Find(netip.MustParseAddr("81.2.69.142")) != (Place{}) {
			t.Errorf("%+v", status)
		}
		return
	}
	if status.Error != "" || places.Find(netip.MustParseAddr("8.8.8.8")).Country != "US" {
		t.Errorf("%+v", status)
	}
}

// FuzzOpenDatabase: no panic and no hang on any bytes.
func FuzzOpenDatabase(f *testing.F) {
	if files, err := filepath.Glob("../../../shared/corpus/geoip/mmdb/MaxMind-DB-test-*.mmdb"); err == nil {
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				f.Add(data)
			}
		}
	}
	f.Add([]byte("\xab\xcd\xefMaxMind.com\xe0"))
	f.Fuzz(func(t *testing.T, data []byte) { tryAll(data) })
}

func BenchmarkFind(b *testing.B) {
	places := open(b, filepath.Join(corpus(b), "geoip", "mmdb", "GeoIP2-Country-Test.mmdb"))
	addr := netip.MustParseAddr("81.2.69.142")
	b.Run("tree", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			places.Find(addr)
		}
	})
	places.flatten()
	b.Run("table", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			places.Find(addr)
		}
	})
}
