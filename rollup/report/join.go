package report

import "strings"

// join makes keys of two texts. It remembers them, since few pairs make nearly all hits and a key must not be made anew for each. The zero
// join is ready; one goroutine uses it.
type join struct{ keys map[[2]string]string }

// maxJoined bounds the keys that are remembered: then all are forgotten.
const maxJoined = 4096

func (j *join) key(a, between, b string) string {
	if key, ok := j.keys[[2]string{a, b}]; ok {
		return key
	}
	if len(j.keys) >= maxJoined || j.keys == nil {
		j.keys = map[[2]string]string{}
	}
	a, b = strings.Clone(a), strings.Clone(b) // they may point into a record
	key := a + between + b
	j.keys[[2]string{a, b}] = key
	return key
}
