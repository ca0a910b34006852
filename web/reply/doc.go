// Package reply writes the answers of the HTTP API: JSON documents, and errors of one shape.
//
// Every error that reaches a client goes through Fail, and rooms.go holds the one table that turns the errors of other rooms into a
// status and a code. What the table does not know is answered as "internal" and logged; its text is not shown, as it may hold paths.
package reply
