package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// The build gives files under assets/ a hash in their names; all others keep their names when their content changes.
const (
	hashedDir     = "assets/"
	cacheForEver  = "public, max-age=31536000, immutable"
	cacheAnHour   = "public, max-age=3600, stale-while-revalidate=86400"
	cacheValidate = "no-cache"
	indexFile     = "index.html"
)

// asset is one file of the dashboard, ready to send.
type asset struct {
	plain   []byte
	gzipped []byte // nil when that is not smaller
	etag    string
	kind    string // Content-Type
}

// assets holds the files of the dashboard by path. It is read-only after loadAssets.
type assets map[string]*asset

// loadAssets reads and compresses every file once; a build has less than a megabyte.
func loadAssets(files fs.FS) (assets, error) {
	all := assets{}
	if files == nil {
		return all, nil
	}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		all[name] = makeAsset(name, content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the files of the dashboard: %w", err)
	}
	return all, nil
}

func makeAsset(name string, content []byte) *asset {
	sum := sha256.Sum256(content)
	a := &asset{plain: content, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, kind: mime.TypeByExtension(path.Ext(name))}
	if a.kind == "" {
		a.kind = http.DetectContentType(content)
	}
	if a.kind == "image/png" || a.kind == "font/woff2" {
		return a // compressed already
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is right
	_, err := w.Write(content)
	if err = errors.Join(err, w.Close()); err == nil && packed.Len() < len(content)*9/10 {
		a.gzipped = packed.Bytes()
	}
	return a
}

// dashboard answers everything that no other route names: a file of the build, or the page that draws the address itself.
func (s *Server) dashboard(w http.ResponseWriter, r *http.Request) {
	files, err := s.files()
	if err != nil {
		s.log.Error("the dashboard cannot be read", "err", err)
		http.Error(w, "the files of the dashboard cannot be read; the log says more", http.StatusInternalServerError)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	file, ok := files[name]
	switch {
	case ok && strings.HasPrefix(name, hashedDir):
		file.serve(w, r, cacheForEver)
	case ok && name != indexFile:
		file.serve(w, r, cacheAnHour)
	case !ok && looksLikeFile(name):
		http.Error(w, "there is no such file", http.StatusNotFound)
	case files[indexFile] != nil:
		files[indexFile].serve(w, r, cacheValidate)
	default:
		http.Error(w, "This weir was built without its dashboard. Run \"make build\" (it needs Node.js) and start the new bin/weir.\n"+
			"Hits are taken in and counted all the same: see \"weir stats --help\".", http.StatusNotFound)
	}
}

// looksLikeFile tells a missing file from an address inside the dashboard, which may end in anything: sites are named like files.
func looksLikeFile(name string) bool {
	if strings.HasPrefix(name, hashedDir) || strings.HasPrefix(name, "js/") {
		return true
	}
	fileLike := []string{".js", ".css", ".map", ".png", ".svg", ".ico", ".json", ".txt", ".xml", ".php", ".webmanifest", ".woff2"}
	return !strings.Contains(name, "/") && slices.Contains(fileLike, path.Ext(name))
}

// tracker answers the snippet's script, which pages of any site load, under our names and those of other trackers.
func (s *Server) tracker(w http.ResponseWriter, r *http.Request) {
	name := s.cfg.TrackerFile(r.URL.Path)
	if name == "" {
		http.Error(w, "there is no such script; docs/tracker.md lists the options that a name can have", http.StatusNotFound)
		return
	}
	files, err := s.files()
	if err != nil || files[name] == nil {
		http.Error(w, "this weir was built without its tracker script: run \"make build\"", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	files[name].serve(w, r, cacheAnHour)
}

// files returns the assets, read anew in development.
func (s *Server) files() (assets, error) {
	if s.cfg.Dev {
		return loadAssets(s.cfg.Assets)
	}
	return s.assets, nil
}

// serve sends the file, packed when the client takes that and it is smaller.
func (a *asset) serve(w http.ResponseWriter, r *http.Request, cache string) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", cache)
	content, etag := a.plain, a.etag
	if a.gzipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) && r.Header.Get("Range") == "" {
			h.Set("Content-Encoding", "gzip")
			content, etag = a.gzipped, strings.TrimSuffix(a.etag, `"`)+`-gz"`
		}
	}
	h.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		quality := strings.ReplaceAll(params, " ", "")
		if strings.EqualFold(coding, "gzip") && quality != "q=0" && quality != "q=0.0" {
			return true
		}
	}
	return false
}
