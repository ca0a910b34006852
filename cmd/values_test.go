package cmd

import (
	"net/netip"
	"testing"
	"time"
)

func TestDaysValue(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		back string
		bad  bool
	}{
		{in: "90d", want: 90 * 24 * time.Hour, back: "90d"},
		{in: "36h", want: 36 * time.Hour, back: "36h0m0s"},
		{in: "48h", want: 48 * time.Hour, back: "2d"},
		{in: "forever", want: 0, back: "forever"},
		{in: "0d", bad: true}, {in: "-1h", bad: true}, {in: "40000d", bad: true}, {in: "soon", bad: true}, {in: "", bad: true},
	} {
		var d time.Duration
		v := daysValue{&d}
		if err := v.Set(c.in); (err != nil) != c.bad {
			t.Errorf("%q: %v", c.in, err)
		} else if !c.bad && (d != c.want || v.String() != c.back) {
			t.Errorf("%q: %s (%s), want %s (%s)", c.in, d, v, c.want, c.back)
		}
	}
}

func TestPrefixesValue(t *testing.T) {
	var list []netip.Prefix
	v := prefixesValue{&list}
	if err := v.Set("10.1.2.3/8, 2001:db8::1"); err != nil || v.String() != "10.0.0.0/8,2001:db8::1/128" {
		t.Errorf("%s, %v", v, err)
	}
	if err := v.Set("proxy.example"); err == nil {
		t.Error("a name was taken for a network")
	}
}
