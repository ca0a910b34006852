// Package vfs is the file system as the log sees it: a few calls on files that
// are written at positions, and an in-memory disk for tests.
//
// OS is the real thing. Mem keeps beside every file and directory what of it
// has been synced; Mem.Crash gives the disk that a power cut would leave. Both
// can be wrapped with Hooked to fail or cut off at any operation.
//
// Names are slash-separated paths. All implementations are safe for concurrent
// use; a File may be read and written at the same time.
package vfs
