package admin

import (
	"net/http"
	"path/filepath"

	"github.com/weir-analytics/weir/web/auth"
	"github.com/weir-analytics/weir/web/reply"
)

// GetStatus answers GET /status.
func (a *Admin) GetStatus(w http.ResponseWriter, r *http.Request) {
	status := a.status()
	if !auth.FromContext(r.Context()).May(auth.Admin) {
		status.DataDir, status.Listeners = "", nil
		for _, geo := range []*GeoIP{&status.GeoIP, &status.GeoIPASN} {
			_, geo.Source = filepath.Split(geo.Source)
			geo.Error = ""
		}
	}
	reply.JSON(w, http.StatusOK, status)
}

// GetAttribution answers GET /attribution.
func (a *Admin) GetAttribution(w http.ResponseWriter, _ *http.Request) {
	credits := []Attribution{}
	if a.credits != nil {
		credits = append(credits, a.credits()...)
	}
	reply.JSON(w, http.StatusOK, struct {
		Attribution []Attribution `json:"attribution"`
	}{credits})
}
