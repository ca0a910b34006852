package cmd

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/weir-analytics/weir/ingest/bot"
)

// span of time that a person writes: Go's form, or a number of days such as 90d, or "forever", which is 0.
type daysValue struct{ d *time.Duration }

func (v daysValue) String() string {
	switch {
	case v.d == nil || *v.d == 0:
		return "forever"
	case *v.d%(24*time.Hour) == 0:
		return strconv.Itoa(int(*v.d/(24*time.Hour))) + "d"
	}
	return v.d.String()
}

func (v daysValue) Set(s string) error {
	if s == "forever" {
		*v.d = 0
		return nil
	}
	if n, ok := strings.CutSuffix(s, "d"); ok {
		days, err := strconv.Atoi(n)
		if err == nil && days >= 1 && days <= 36500 {
			*v.d = time.Duration(days) * 24 * time.Hour
			return nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d > 0 {
		*v.d = d
		return nil
	}
	return fmt.Errorf("%q, want a time such as 36h or 90d (up to 36500d), or forever", s)
}

func (daysValue) Type() string { return "time" }

// prefixesValue is a list of addresses and networks, separated by commas.
type prefixesValue struct{ list *[]netip.Prefix }

func (v prefixesValue) String() string {
	if v.list == nil {
		return ""
	}
	var parts []string
	for _, p := range *v.list {
		parts = append(parts, p.String())
	}
	return strings.Join(parts, ",")
}

func (v prefixesValue) Set(s string) error {
	var list []netip.Prefix
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		p, err := netip.ParsePrefix(part)
		if err != nil {
			addr, addrErr := netip.ParseAddr(part)
			if addrErr != nil {
				return fmt.Errorf("%q is no address and no network: want such as 10.0.0.0/8 or 2001:db8::1", part)
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		list = append(list, p.Masked())
	}
	*v.list = list
	return nil
}

func (prefixesValue) Type() string { return "networks" }

// rangesFileValue is a file that lists addresses and networks, one a line.
type rangesFileValue struct {
	path string
	list *[]netip.Prefix
}

func (v *rangesFileValue) String() string { return v.path }

func (v *rangesFileValue) Set(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	list, err := bot.ReadRanges(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	v.path, *v.list = path, list
	return nil
}

func (*rangesFileValue) Type() string { return "file" }

// secretFileValue is a secret that is read from a file, so that it shows in no process list.
type secretFileValue struct {
	path   string
	secret *string
}

func (v *secretFileValue) String() string { return v.path }

func (v *secretFileValue) Set(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" {
		return fmt.Errorf("%s is empty, want the secret on one line", path)
	}
	v.path, *v.secret = path, secret
	return nil
}

func (*secretFileValue) Type() string { return "file" }

// oneOfValue is one of some words.
type oneOfValue struct {
	word    *string
	allowed []string
}

func (v oneOfValue) String() string {
	if v.word == nil {
		return ""
	}
	return *v.word
}

func (v oneOfValue) Set(s string) error {
	for _, a := range v.allowed {
		if s == a {
			*v.word = s
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(v.allowed, ", "))
}

func (oneOfValue) Type() string { return "word" }

var _ = []pflag.Value{daysValue{}, prefixesValue{}, &rangesFileValue{}, &secretFileValue{}, oneOfValue{}}
