package state

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

const (
	maxEmail     = 254 // bytes, the longest address that mail can be sent to
	maxTokenName = 100 // bytes
)

// UserKey is the form in which e-mail addresses are compared.
func UserKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func (s *State) addUser(cmd command.AddUser, now time.Time) (User, error) {
	email := strings.TrimSpace(cmd.Email)
	if err := checkEmail(email); err != nil {
		return User{}, err
	}
	if _, ok := s.Users[UserKey(email)]; ok {
		return User{}, exists("user", email)
	}
	role := Role(cmd.Role)
	if !slices.Contains([]Role{RoleAdmin, RoleEditor, RoleViewer}, role) {
		return User{}, invalid("role", "%q is no role: admin, editor or viewer", cmd.Role)
	}
	if cmd.PasswordHash == "" {
		return User{}, invalid("password", "it is empty")
	}
	user := User{Email: email, Role: role, PasswordHash: cmd.PasswordHash, CreatedAt: now}
	s.Users = with(s.Users, UserKey(email), user)
	return user, nil
}

func (s *State) setPassword(cmd command.SetPassword) (any, error) {
	user, ok := s.Users[UserKey(cmd.Email)]
	if !ok {
		return nil, notFound("user", cmd.Email)
	}
	if cmd.PasswordHash == "" {
		return nil, invalid("password", "it is empty")
	}
	user.PasswordHash = cmd.PasswordHash
	s.Users = with(s.Users, UserKey(cmd.Email), user)
	return user, nil
}

func (s *State) deleteUser(cmd command.DeleteUser) (any, error) {
	user, ok := s.Users[UserKey(cmd.Email)]
	if !ok {
		return nil, notFound("user", cmd.Email)
	}
	admins := 0
	for _, u := range s.Users {
		if u.Role == RoleAdmin {
			admins++
		}
	}
	if user.Role == RoleAdmin && admins == 1 {
		return nil, invalid("email", "%s is the last administrator: add another one first", user.Email)
	}
	s.Users = without(s.Users, UserKey(cmd.Email))
	return nil, nil
}

func (s *State) addToken(cmd command.AddToken, now time.Time) (any, error) {
	name := strings.TrimSpace(cmd.Name)
	if name == "" || len(name) > maxTokenName {
		return nil, invalid("name", "%d bytes, 1 to %d are allowed", len(name), maxTokenName)
	}
	for _, token := range s.Tokens {
		if token.Name == name {
			return nil, exists("token", name)
		}
	}
	scopes, err := checkScopes(cmd.Scopes)
	if err != nil {
		return nil, err
	}
	token := Token{ID: s.NextTokenID, Name: name, Scopes: scopes, SecretHash: cmd.SecretHash, CreatedAt: now}
	s.NextTokenID++
	s.Tokens = with(s.Tokens, token.ID, token)
	return token, nil
}

func (s *State) deleteToken(cmd command.DeleteToken) (any, error) {
	token, ok := s.Tokens[cmd.ID]
	if !ok {
		return nil, notFound("token", strconv.FormatUint(cmd.ID, 10))
	}
	s.Tokens = without(s.Tokens, token.ID)
	return nil, nil
}

func checkScopes(names []string) ([]Scope, error) {
	var scopes []Scope
	for _, name := range names {
		scope := Scope(name)
		if !slices.Contains([]Scope{ScopeStats, ScopeIngest, ScopeAdmin}, scope) {
			return nil, invalid("scopes", "%q is no scope: stats, ingest or admin", name)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 {
		return nil, invalid("scopes", "give at least one of stats, ingest, admin")
	}
	return scopes, nil
}

func checkEmail(email string) error {
	local, domain, ok := strings.Cut(email, "@")
	if !ok || local == "" || domain == "" || strings.Contains(domain, "@") || strings.ContainsAny(email, " \t\r\n,;<>") {
		return invalid("email", "%q is no e-mail address", email)
	}
	if len(email) > maxEmail {
		return invalid("email", "%d bytes, at most %d are allowed", len(email), maxEmail)
	}
	return nil
}
