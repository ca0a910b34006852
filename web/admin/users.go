package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/auth"
	"github.com/weir-analytics/weir/web/reply"
)

// userDocument is a user on the wire: everything but the password's hash.
type userDocument struct {
	Email     string     `json:"email"`
	Role      state.Role `json:"role"`
	CreatedAt time.Time  `json:"created_at"`
}

// ListUsers answers GET /users, in order of address.
func (a *Admin) ListUsers(w http.ResponseWriter, _ *http.Request) {
	users := []userDocument{}
	for _, u := range a.ctl.State().Users {
		users = append(users, userDocument{u.Email, u.Role, u.CreatedAt})
	}
	slices.SortFunc(users, func(a, b userDocument) int { return cmp.Compare(state.UserKey(a.Email), state.UserKey(b.Email)) })
	reply.JSON(w, http.StatusOK, struct {
		Users []userDocument `json:"users"`
	}{users})
}

// AddUser answers POST /users.
func (a *Admin) AddUser(w http.ResponseWriter, r *http.Request) {
	user, err := a.addUser(r)
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.JSON(w, http.StatusCreated, userDocument{user.Email, user.Role, user.CreatedAt})
}

func (a *Admin) addUser(r *http.Request) (state.User, error) {
	var in struct {
		Email    string     `json:"email"`
		Role     state.Role `json:"role"`
		Password string     `json:"password"`
	}
	if err := reply.Decode(r, &in); err != nil {
		return state.User{}, err
	}
	hash, err := a.hash(r, in.Password)
	if err != nil {
		return state.User{}, err
	}
	return a.ctl.AddUser(r.Context(), in.Email, in.Role, hash)
}

// SetPassword answers PUT /users/{email}/password. All sessions of that user end.
func (a *Admin) SetPassword(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Password string `json:"password"`
	}
	err := reply.Decode(r, &in)
	if err == nil {
		var hash string
		if hash, err = a.hash(r, in.Password); err == nil {
			err = a.ctl.SetPassword(r.Context(), emailOf(r), hash)
		}
	}
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.NoContent(w)
}

// DeleteUser answers DELETE /users/{email}. All sessions of that user end.
func (a *Admin) DeleteUser(w http.ResponseWriter, r *http.Request) {
	if err := a.ctl.DeleteUser(r.Context(), emailOf(r)); err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.NoContent(w)
}

func (a *Admin) hash(r *http.Request, password string) (string, error) {
	if err := auth.CheckPassword("password", password); err != nil {
		return "", err
	}
	return a.hasher.Hash(r.Context(), password)
}

func emailOf(r *http.Request) string {
	email := chi.URLParam(r, "email")
	if unescaped, err := url.PathUnescape(email); err == nil {
		return unescaped
	}
	return email
}
