// Package admin answers the routes that change or show what the cluster agreed on: sites, users and tokens; the import of logs; and what
// this node is. Every change goes through the controller, which checks it, so that the rules are the same for every node and client.
//
// Start reading at admin.go.
package admin
