// Package auth knows who calls: a person with a session, a program with a token, or the owner of the data directory on the admin socket;
// and what each of them may do.
//
// Invariants:
//   - Secrets (session tokens, API tokens, passwords, the set-up token) are kept as hashes only and never logged. API tokens and session
//     tokens carry 256 random bits, so SHA-256 is enough for them; passwords get argon2id.
//   - Role, existence and password of a user are read from the cluster state on every call. A session of a user who was deleted, or whose
//     password changed, is over at once.
//   - A call that a browser could be tricked into (cookie, unsafe method) needs a header that other sites cannot send.
//   - Memory is bounded: sessions, remembered addresses, and the number of passwords being hashed at a time.
//
// Start reading at identity.go (who may do what), then middleware.go.
package auth
