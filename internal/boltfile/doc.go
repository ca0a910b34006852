// Package boltfile finds damage in the files of bbolt before it ends the process.
//
// bbolt maps its file into memory and trusts it: a file that was cut short is answered by SIGBUS, a page that is not what it should be by a
// panic. Check reads the meta pages with plain reads, compares them with the size of the file, and then walks through everything with
// panics and faults turned into errors. Nothing is written.
package boltfile
