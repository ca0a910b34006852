package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type userDoc struct {
	Email     string    `json:"email"`
	Role      string    `json:"role"`
	CreatedAt time.Time `json:"created_at"`
}

func userCommand() *cobra.Command {
	c := group("user", "Add, list and remove people who log in to the dashboard")
	r := reachFlags(c)
	c.AddCommand(userAdd(r), userList(r), userPassword(r), userRemove(r))
	return c
}

// password reads one line from standard input.
func password(in io.Reader, fromStdin bool) (string, error) {
	if !fromStdin {
		return "", usagef("the password is read from standard input, so that it shows in no process list: give --password-stdin and pipe it in")
	}
	const longest = 1 << 10 // bytes, above every password that the API takes
	line, err := bufio.NewReader(io.LimitReader(in, longest)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", usagef("--password-stdin: standard input holds no password")
	}
	return line, nil
}

func userAdd(r *reach) *cobra.Command {
	var role string
	var fromStdin bool
	c := &cobra.Command{
		Use: "add EMAIL", Short: "Add a person", Args: exactly(1),
		Example: "  printf '%s' \"$PASSWORD\" | weir user add ada@example.com --role admin --password-stdin",
		RunE: func(c *cobra.Command, args []string) error {
			pass, err := password(c.InOrStdin(), fromStdin)
			if err != nil {
				return err
			}
			a, err := r.connect()
			if err != nil {
				return err
			}
			var user userDoc
			if err := a.call(c.Context(), http.MethodPost, "/api/v1/users", map[string]string{"email": args[0], "role": role, "password": pass}, &user); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "added %s (%s)\n", user.Email, user.Role)
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", "viewer", "what the person may do: admin (everything), editor (sites and imports too), viewer (read counts)")
	completeWords(c, "role", "admin", "editor", "viewer")
	c.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	return c
}

func userList(r *reach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the people", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var doc struct {
				Users []userDoc `json:"users"`
			}
			if err := a.call(c.Context(), http.MethodGet, "/api/v1/users", nil, &doc); err != nil {
				return err
			}
			t := table{head: []string{"EMAIL", "ROLE", "ADDED"}}
			for _, u := range doc.Users {
				t.add(u.Email, u.Role, u.CreatedAt.Format(time.DateOnly))
			}
			return show(c, asJSON, doc, t.print)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func userPassword(r *reach) *cobra.Command {
	var fromStdin bool
	c := &cobra.Command{
		Use: "password EMAIL", Short: "Give a person another password", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			pass, err := password(c.InOrStdin(), fromStdin)
			if err != nil {
				return err
			}
			a, err := r.connect()
			if err != nil {
				return err
			}
			if err := a.call(c.Context(), http.MethodPut, "/api/v1/users/"+url.PathEscape(args[0])+"/password", map[string]string{"password": pass}, nil); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s has another password\n", args[0])
			return nil
		},
	}
	c.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	return c
}

func userRemove(r *reach) *cobra.Command {
	return &cobra.Command{
		Use: "remove EMAIL", Short: "Remove a person", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			if err := a.call(c.Context(), http.MethodDelete, "/api/v1/users/"+url.PathEscape(args[0]), nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "removed %s\n", args[0])
			return nil
		},
	}
}
