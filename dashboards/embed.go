// Package dashboards carries the built front end inside the binary: the dashboard (a single page application) and the tracker /js/weir.js.
//
// The sources are TypeScript and Svelte beside this file; `npm ci && npm run build` writes dist/, which is not committed. A committed
// dist/.keep keeps the embed compiling in a fresh clone. Nothing here serves HTTP: room web does, with the file names as they are.
//
// In dist/: index.html and everything below assets/ for the dashboard (names below assets/ carry a hash of their content, so they may be
// cached for ever), js/weir.js for the tracked pages, licenses.txt for the libraries inside.
package dashboards

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Assets returns the built files, rooted at dist/. The second result is false when the binary was compiled without the built front end
// (only the placeholder is there); whoever serves the dashboard then says that `make build` is needed.
// The result is immutable and safe for concurrent use.
func Assets() (fs.FS, bool) {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("BUG: dist is embedded by name: " + err.Error())
	}
	_, err = fs.Stat(built, "index.html")
	return built, err == nil
}
