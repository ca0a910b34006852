// Package jsonscan reads one JSON value at a time out of bytes, without allocating and without knowing the shape in advance.
//
// It is strict where encoding/json is strict: what json.Valid refuses, it refuses, and text decodes to the same string. It is made for
// bodies of a few known fields that arrive by the hundred thousand a second, where encoding/json would be the largest cost of a hit.
// Nesting deeper than MaxDepth is refused, so that hostile input cannot exhaust the stack.
//
// Start reading at Object.
package jsonscan
