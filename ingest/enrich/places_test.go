package enrich

import (
	"bufio"
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
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
			if code := regionCode(col[1], col[4]); strings.Contains(name, "City") && got.RegionCode != code && (col[4] != "" || col[5] == "") { // the truth leaves some regions out
				t.Errorf("%s: %s: got region %q, want %q", name, addr, got.RegionCode, code)
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

func TestNetworksAreAsTheTruthSays(t *testing.T) {
	dir := filepath.Join(corpus(t), "geoip")
	log := slog.New(slog.DiscardHandler)
	networks := OpenNetworks(filepath.Join(dir, "mmdb", "GeoLite2-ASN-Test.mmdb"), time.Now, log)
	if status := networks.Status(); status.Error != "" || status.Type != "GeoLite2-ASN" {
		t.Fatalf("%+v", status)
	}
	data, err := os.ReadFile(filepath.Join(dir, "truth-GeoLite2-ASN-Test.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(data)) {
		col := strings.Split(strings.TrimRight(line, "\n"), "\t")
		addr, err := netip.ParseAddr(col[0])
		if err != nil {
			continue // the head
		}
		rows++
		if got := networks.Find(addr); strconv.Itoa(int(got.ASN)) != col[1] || got.ASName != col[2] {
			t.Errorf("%s: got %d %q, want %s %q", addr, got.ASN, got.ASName, col[1], col[2])
		}
	}
	if rows < 700 {
		t.Errorf("only %d rows", rows)
	}
	if status := OpenNetworks(filepath.Join(dir, "mmdb", "GeoLite2-Country-Test.mmdb"), time.Now, log).Status(); !strings.Contains(status.Error, "no autonomous systems") {
		t.Errorf("a country database: %+v", status)
	}
	none := OpenNetworks("", time.Now, log)
	if none.Status() != (PlacesStatus{}) || none.Find(netip.MustParseAddr("1.128.0.0")) != (Place{}) {
		t.Errorf("no file: %+v", none.Status())
	}
	enterprise := open(t, filepath.Join(dir, "mmdb", "GeoIP2-Enterprise-Test.mmdb"))
	if got := enterprise.Find(netip.MustParseAddr("74.209.24.0")); got.Country != "US" || got.RegionCode != "US-NY" || got.City != "Chatham" || got.ASN != 14671 {
		t.Errorf("one database with everything: %+v", got)
	}
}

// TestAFileIsTakenWhenItHasStoppedChanging: a file that is written in place, slowly, is not taken in the middle.
func TestAFileIsTakenWhenItHasStoppedChanging(t *testing.T) {
	dir := filepath.Join(corpus(t), "geoip", "mmdb")
	country, err := os.ReadFile(filepath.Join(dir, "GeoIP2-Country-Test.mmdb"))
	if err != nil {
		t.Fatal(err)
	}
	city, err := os.ReadFile(filepath.Join(dir, "GeoIP2-City-Test.mmdb"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "geo.mmdb")
	write := func(data []byte, second int64) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Unix(second, 0)); err != nil {
			t.Fatal(err)
		}
	}
	write(country, 1)
	places := open(t, file)
	places.look()
	mixed := append(bytes.Clone(city[:len(city)/2]), country[len(country)/2:]...)
	for second := range int64(5) {
		write(mixed, 2+second)
		places.look()
		if status := places.Status(); status.Type != "GeoIP2-Country" || status.Error != "" {
			t.Fatalf("half-written: %+v", status)
		}
	}
	write(city, 10)
	places.look()
	places.look()
	if status := places.Status(); status.Type != "GeoIP2-City" || status.Error != "" {
		t.Errorf("whole: %+v", status)
	}
}

func TestADatabaseThatGrowsOldIsNamedOldOnce(t *testing.T) {
	file := filepath.Join(corpus(t), "geoip", "mmdb", "GeoIP2-Country-Test.mmdb")
	built := open(t, file).Status().Built
	now := built
	var said bytes.Buffer
	places := OpenPlaces(file, func() time.Time { return now }, slog.New(slog.NewTextHandler(&said, nil)))
	for range 500 {
		places.look()
		now = now.AddDate(0, 0, 1)
	}
	if n := strings.Count(said.String(), "is old"); n != 1 || !places.Status().Old {
		t.Errorf("said %d times: %s", n, said.String())
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
	db, err := openDatabase(data, placesKind)
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
