package auth

import (
	"fmt"
	"net/netip"
	"testing"
)

func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

// Guessing from many addresses ends, for that account alone, and does not keep its owner out.
func TestGuessingOneAccountFromManyAddressesEnds(t *testing.T) {
	a, home := newAccounts(), netip.MustParseAddr("192.0.2.1")
	a.Succeeded("ada", home, now)
	tries := 0
	for i := range 1000 {
		if a.Wait("ada", address(i), now) == 0 {
			tries++
			a.Failed("ada", address(i), now)
		}
	}
	if tries != accountTries {
		t.Errorf("%d guesses from a thousand addresses, want %d", tries, accountTries)
	}
	for range 2 * accountTries { // the owner mistypes
		a.Failed("ada", home, now)
	}
	if wait := a.Wait("ada", home, now); wait != 0 {
		t.Errorf("where the account is at home one waits %v", wait)
	}
	if wait := a.Wait("bob", address(1), now); wait != 0 {
		t.Errorf("another account waits %v", wait)
	}
	a.Succeeded("bob", address(2), now)
	if wait := a.Wait("ada", address(2), now); wait != throttleWindow {
		t.Errorf("the home of another account waits %v, want %v", wait, throttleWindow)
	}
	if wait := a.Wait("ada", address(1), now.Add(throttleWindow)); wait != 0 {
		t.Errorf("after the window: %v", wait)
	}
	if wait := a.Wait("ada", home, now.Add(homeFor)); wait != 0 {
		t.Errorf("after a month, nothing has failed: %v", wait)
	}
}

func TestAccountsAreBounded(t *testing.T) {
	a := newAccounts()
	for i := range 2 * homesMax {
		a.Succeeded(fmt.Sprint(i), address(i), now)
		a.Failed(fmt.Sprint(i), address(i+1), now)
	}
	if len(a.homes) > homesMax || len(a.byKey) > throttleMax {
		t.Errorf("%d homes and %d accounts are remembered", len(a.homes), len(a.byKey))
	}
}
