package javahash

import "testing"

func TestPartitionAgreesWithJava(t *testing.T) {
	// String.hashCode by hand: "" is 0, "a" is 97, "ab" is 31*97+98 = 3105; "polygenelubricants" is the famous one that hashes
	// to the smallest int32, whose absolute value does not exist.
	for id, want := range map[string]int32{"": 0, "a": 97 % 50, "ab": 3105 % 50, "polygenelubricants": 0, "\U0001F600": (31*0xD83D + 0xDE00) % 50} {
		if got := Partition(id, 50); got != want {
			t.Errorf("Partition(%q) = %d, want %d", id, got, want)
		}
	}
}
