package state

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// Bounds of the rules of one site: every hit may be held against each of them.
const (
	maxRules     = 200 // entries of one list
	maxRuleBytes = 253 // of one entry, the longest host name
)

func checkRules(r *command.Rules) error {
	for _, list := range []struct {
		field   string
		entries []string
		check   func(string) string // what is wrong, or ""
	}{
		{"addresses", r.Addresses, checkPrefix}, {"hosts", r.Hosts, noCheck}, {"paths", r.Paths, checkPath}, {"referrers", r.Referrers, noCheck},
		{"countries", r.Countries, checkCountry}, {"query", r.Query, noCheck},
	} {
		if len(list.entries) > maxRules {
			return invalid(list.field, "%d entries, at most %d are allowed", len(list.entries), maxRules)
		}
		for _, entry := range list.entries {
			if entry == "" || len(entry) > maxRuleBytes || !utf8.ValidString(entry) || strings.ContainsAny(entry, " ,\t\r\n") {
				return invalid(list.field, "%q is no entry: want 1 to %d bytes without blanks and commas", entry, maxRuleBytes)
			}
			if wrong := list.check(entry); wrong != "" {
				return invalid(list.field, "%q %s", entry, wrong)
			}
		}
	}
	return nil
}

func noCheck(string) string { return "" }

func checkPrefix(entry string) string {
	if _, err := netip.ParsePrefix(entry); err == nil {
		return ""
	}
	if _, err := netip.ParseAddr(entry); err == nil {
		return ""
	}
	return "is neither an address nor a network such as 192.0.2.0/24"
}

func checkPath(entry string) string {
	if entry[0] == '/' || entry[0] == '*' {
		return ""
	}
	return "is no path: it begins with / or *"
}

func checkCountry(entry string) string {
	if len(entry) == 2 && entry[0] >= 'A' && entry[0] <= 'Z' && entry[1] >= 'A' && entry[1] <= 'Z' {
		return ""
	}
	return "is no country: want two capital letters such as DE"
}
