//go:build !linux

package node

// dropBinary is for systems that say which pages of a program were changed.
func dropBinary() {}
