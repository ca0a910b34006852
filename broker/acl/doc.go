// Package acl decides what a Kafka client may do. It is pure: rules are made from the cluster state's list, and answer questions.
//
// The rules are Kafka's:
//   - a literal ACL is for the resource of that name, or for all of its type when the name is *; a prefixed one for all that begin so;
//   - User:* is everybody, and host * everywhere;
//   - one that denies goes before any that allows; without one that allows the answer is no;
//   - who may read, write, delete or alter may describe, and who may alter configs may describe them;
//   - super users may do everything.
//
// By choice, a resource that no ACL names at all may be open to everybody (Policy.AllowIfNone), which is off unless asked for.
//
// Start reading at Rules.Allowed.
package acl
