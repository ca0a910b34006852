package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type tokenDoc struct {
	ID        uint64    `json:"id"`
	Name      string    `json:"name"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	Token     string    `json:"token,omitempty"`
}

func tokenCommand() *cobra.Command {
	c := group("token", "Add, list and remove tokens for programs")
	r := reachFlags(c)
	c.AddCommand(tokenAdd(r), tokenList(r), tokenRemove(r))
	return c
}

func tokenAdd(r *reach) *cobra.Command {
	var scopes []string
	var asJSON bool
	c := &cobra.Command{
		Use: "add NAME", Short: "Make a token and print it: it is shown this once", Args: exactly(1),
		Example: "  weir token add link-service --scope ingest",
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			var token tokenDoc
			if err := a.call(c.Context(), http.MethodPost, "/api/v1/tokens", map[string]any{"name": args[0], "scopes": scopes}, &token); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(token)
			}
			fmt.Fprintln(c.OutOrStdout(), token.Token)
			fmt.Fprintf(c.ErrOrStderr(), "keep it: it is not shown again. Scopes: %s\n", strings.Join(token.Scopes, ", "))
			return nil
		},
	}
	c.Flags().StringSliceVar(&scopes, "scope", []string{"stats"}, "what the token may do: stats (read counts), ingest (send hits and imports), admin (everything); may be given more than once")
	completeWords(c, "scope", "stats", "ingest", "admin")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func listTokens(ctx context.Context, a *api) ([]tokenDoc, error) {
	var doc struct {
		Tokens []tokenDoc `json:"tokens"`
	}
	err := a.call(ctx, http.MethodGet, "/api/v1/tokens", nil, &doc)
	return doc.Tokens, err
}

func tokenList(r *reach) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			tokens, err := listTokens(c.Context(), a)
			if err != nil {
				return err
			}
			t := table{head: []string{"NAME", "SCOPES", "ADDED"}}
			for _, tok := range tokens {
				t.add(tok.Name, strings.Join(tok.Scopes, ","), tok.CreatedAt.Format(time.DateOnly))
			}
			return show(c, asJSON, map[string]any{"tokens": tokens}, t.print)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func tokenRemove(r *reach) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a token: requests that carry it are refused from now on", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := r.connect()
			if err != nil {
				return err
			}
			tokens, err := listTokens(c.Context(), a)
			if err != nil {
				return err
			}
			for _, tok := range tokens {
				if tok.Name != args[0] {
					continue
				}
				if err := a.call(c.Context(), http.MethodDelete, "/api/v1/tokens/"+strconv.FormatUint(tok.ID, 10), nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(c.OutOrStdout(), "removed %s\n", tok.Name)
				return nil
			}
			return fmt.Errorf("there is no token %q; \"weir token list\" shows their names", args[0])
		},
	}
}
