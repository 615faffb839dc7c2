package datasets

import (
	"flag"
	"testing"

	"github.com/lambdac/lambdac/internal/jsonschema"
)

var _ = flag.Bool("update", false, "write the published schemas")

func TestPublishedSchemas(t *testing.T) {
	jsonschema.Published(t, "../docs/schema/import.v1.json", ReportSchema, Report{}, ".")
	jsonschema.Published(t, "../docs/schema/export.v1.json", ExportSchema, ExportReport{}, ".")
}
