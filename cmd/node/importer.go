package node

import (
	"context"

	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/web"
)

// importer lets web hand log files to ingest. It implements web.Importer.
type importer struct{ ingest *ingest.Ingest }

func (i importer) Import(ctx context.Context, in web.ImportRequest, progress func(web.ImportCounts)) (web.ImportResult, error) {
	r, err := i.ingest.Import(ctx, ingest.ImportRequest{Site: in.Site, Body: in.Body}, func(c ingest.ImportCounts) { progress(web.ImportCounts(c)) })
	result := web.ImportResult{ImportCounts: web.ImportCounts(r.ImportCounts), Humans: r.Humans, Bots: r.Bots, Reasons: r.Reasons, Offsets: r.Offsets}
	for _, e := range r.Examples {
		result.Examples = append(result.Examples, web.ImportExample(e))
	}
	return result, err
}
