// Package boltfile finds damage in the files of bbolt before it ends the process.
//
// bbolt maps its file into memory and trusts it: a file that was cut short is answered by SIGBUS, a page that is not what it should be by a
// panic, and a free page that is none is written over. Check reads all pages with plain reads and follows what they say of each other.
// Values have no checksum: what they hold is not known to be right. Nothing is written.
package boltfile
