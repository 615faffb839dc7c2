package analyzer

import (
	"flag"
	"testing"

	"github.com/lambdac/lambdac/internal/jsonschema"
)

var _ = flag.Bool("update", false, "write the published schemas")

// The published JSON Schemas are made from the structs and their comments, so
// that they cannot drift apart.
func TestPublishedSchemas(t *testing.T) {
	jsonschema.Published(t, "../docs/schema/analysis.v1.json", AnalysisSchema, Analysis{}, ".", "../trace")
	jsonschema.Published(t, "../docs/schema/compare.v1.json", ComparisonSchema, Comparison{}, ".", "../trace")
	jsonschema.Published(t, "../docs/schema/summary.v1.json", SummarySchema, Summary{}, ".", "../trace")
}
