package tracedir

import (
	"testing"

	"github.com/lambdac/lambdac/internal/jsonschema"
	"github.com/lambdac/lambdac/trace"
)

// The published JSON Schemas of the documents beside the Parquet files.
func TestPublishedSchemas(t *testing.T) {
	const docs = "../../docs/schema/"
	jsonschema.Published(t, docs+"manifest.v1.json", trace.ManifestSchema, trace.Manifest{}, "..")
	jsonschema.Published(t, docs+"levels.v1.json", levelsSchema, levelsDoc{}, ".", "..")
	jsonschema.Published(t, docs+"marks.v1.json", marksSchema, marksDoc{}, ".", "..")
}
