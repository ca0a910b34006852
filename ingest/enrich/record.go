package enrich

import (
	"errors"
	"strconv"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2"
)

// Bounds of text in records, in bytes.
const (
	maxName = 200 // of regions, cities and companies; the longest real ones have about 100
	maxCode = 6   // of ISO 3166-2, such as GB-ENG
)

// Where the makers of databases put what: MaxMind and those who write like it (DB-IP, IP2Location) in maps of codes and names, the flat ones
// (ip-location-db, IPinfo) at the top.
var (
	countryPaths    = [][]any{{"country", "iso_code"}, {"country_code"}, {"country"}}
	regionPaths     = [][]any{{"subdivisions", 0, "names", "en"}, {"state1"}, {"region"}}
	regionCodePaths = [][]any{{"subdivisions", 0, "iso_code"}, {"region_code"}}
	cityPaths       = [][]any{{"city", "names", "en"}, {"city"}}
	asnPaths        = [][]any{{"autonomous_system_number"}, {"traits", "autonomous_system_number"}, {"asn"}}
	asNamePaths     = [][]any{{"autonomous_system_organization"}, {"traits", "autonomous_system_organization"}, {"as_name"}, {"name"}}
)

// decodePlace reads the few fields of a record that are used, by path: decoding whole records allocates by what a file says, and a
// damaged file says anything.
func decodePlace(result maxminddb.Result) (p Place, err error) {
	r := record{result: result}
	p.Country = strings.ToUpper(r.text(2, countryPaths))
	if len(p.Country) != 2 {
		p.Country = ""
	}
	p.Region = r.text(maxName, regionPaths)
	p.RegionCode = regionCode(p.Country, r.text(maxCode, regionCodePaths))
	p.City = r.text(maxName, cityPaths)
	p.ASN = r.number(asnPaths)
	if p.ASN != 0 {
		p.ASName = r.text(maxName, asNamePaths)
	}
	return p, r.err
}

// regionCode puts the country in front of a code that does without.
func regionCode(country, code string) string {
	if code == "" || country == "" || strings.HasPrefix(code, country+"-") {
		return code
	}
	return country + "-" + code
}

// record reads fields of one record. Its error is that of a damaged file; a field that is missing, or of another type, is empty.
type record struct {
	result maxminddb.Result
	err    error
}

// text returns the first of some fields that holds a text of at most max bytes. A dash stands for nothing, as IP2Location writes it.
func (r *record) text(max int, paths [][]any) string {
	for _, path := range paths {
		var text string
		if r.decode(&text, path) && text != "" && text != "-" && len(text) <= max {
			return text
		}
	}
	return ""
}

// number returns the first of some fields that holds an autonomous system, as a number or as text such as AS15169.
func (r *record) number(paths [][]any) uint32 {
	for _, path := range paths {
		var n uint64
		if r.decode(&n, path) && n != 0 && n < 1<<32 {
			return uint32(n)
		}
		var text string
		if r.decode(&text, path) && len(text) <= len("AS4294967295") {
			if n, err := strconv.ParseUint(strings.TrimPrefix(text, "AS"), 10, 32); err == nil {
				return uint32(n)
			}
		}
	}
	return 0
}

// decode reports whether a field was read.
func (r *record) decode(into any, path []any) bool {
	if r.err != nil {
		return false
	}
	err := r.result.DecodePath(into, path...)
	var wrongType maxminddb.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrongType) {
		r.err = err
	}
	return err == nil
}
