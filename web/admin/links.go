package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
	"github.com/weir-analytics/weir/web/stats"
)

// linkDocument is a short link on the wire.
type linkDocument struct {
	ID        state.LinkKey `json:"id"` // as in counts
	Slug      string        `json:"slug"`
	Domain    string        `json:"domain"`
	Site      string        `json:"site"`
	Dest      string        `json:"dest"`
	Status    int           `json:"status"`
	PassQuery bool          `json:"pass_query"`
	PassPath  bool          `json:"pass_path"`
	ExpiresAt *time.Time    `json:"expires_at"`
	CreatedAt time.Time     `json:"created_at"`
}

func linkDocumentOf(s *state.State, l *state.Link) linkDocument {
	doc := linkDocument{ID: l.Key(), Slug: l.Slug, Domain: l.Domain, Site: s.Sites[l.SiteID].Name, Dest: l.Dest, Status: l.Status,
		PassQuery: l.PassQuery, PassPath: l.PassPath, CreatedAt: l.CreatedAt}
	if !l.ExpiresAt.IsZero() {
		doc.ExpiresAt = &l.ExpiresAt
	}
	return doc
}

// ListLinks answers GET /links: those of ?site=, or all, in order of id.
func (a *Admin) ListLinks(w http.ResponseWriter, r *http.Request) {
	s := a.ctl.State()
	name := r.URL.Query().Get("site")
	site, ok := s.SiteByName(name)
	if name != "" && !ok {
		reply.Fail(w, r, a.log, reply.NotFound("there is no site %.300q", name))
		return
	}
	links := []linkDocument{}
	for _, link := range s.Links {
		if name == "" || link.SiteID == site.ID {
			links = append(links, linkDocumentOf(s, &link))
		}
	}
	slices.SortFunc(links, func(a, b linkDocument) int { return cmp.Compare(a.ID, b.ID) })
	reply.JSON(w, http.StatusOK, struct {
		Links []linkDocument `json:"links"`
	}{links})
}

// linkIn is a short link as a caller gives it.
type linkIn struct {
	Slug      string     `json:"slug"`
	Domain    string     `json:"domain"`
	Dest      string     `json:"dest"`
	Status    int        `json:"status"`
	PassQuery bool       `json:"pass_query"`
	PassPath  bool       `json:"pass_path"`
	ExpiresAt *time.Time `json:"expires_at"`
}

// PutLinks answers POST /sites/{site}/links: adds links, all of them or none.
func (a *Admin) PutLinks(w http.ResponseWriter, r *http.Request) {
	links, err := a.putLinks(r)
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	s := a.ctl.State()
	docs := make([]linkDocument, len(links))
	for i := range links {
		docs[i] = linkDocumentOf(s, &links[i])
	}
	reply.JSON(w, http.StatusCreated, struct {
		Links []linkDocument `json:"links"`
	}{docs})
}

func (a *Admin) putLinks(r *http.Request) ([]state.Link, error) {
	var in struct {
		Links   []linkIn `json:"links"`
		Replace bool     `json:"replace"`
	}
	site, err := stats.SiteOf(r, a.ctl)
	if err != nil {
		return nil, err
	}
	if err := reply.Decode(r, &in); err != nil {
		return nil, err
	}
	if len(in.Links) == 0 {
		return nil, reply.Invalid("links", "links: it is empty, want at least one")
	}
	links := make([]command.Link, len(in.Links))
	for i, l := range in.Links {
		links[i] = command.Link{Domain: l.Domain, Slug: l.Slug, Site: site.Name, Dest: l.Dest, Status: cmp.Or(l.Status, http.StatusFound),
			PassQuery: l.PassQuery, PassPath: l.PassPath}
		if l.ExpiresAt != nil {
			links[i].ExpiresMs = l.ExpiresAt.UnixMilli()
		}
	}
	return a.ctl.PutLinks(r.Context(), links, in.Replace)
}

// DeleteLink answers DELETE /links/{slug}, with ?domain= for one that answers at one domain.
func (a *Admin) DeleteLink(w http.ResponseWriter, r *http.Request) {
	slug := chi.URLParam(r, "slug")
	if unescaped, err := url.PathUnescape(slug); err == nil {
		slug = unescaped
	}
	if err := a.ctl.DeleteLink(r.Context(), r.URL.Query().Get("domain"), slug); err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.NoContent(w)
}
