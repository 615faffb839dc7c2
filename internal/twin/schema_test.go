package twin

import (
	"flag"
	"testing"

	"github.com/lambdac/lambdac/internal/jsonschema"
)

var _ = flag.Bool("update", false, "write the published schemas")

func TestPublishedSchemas(t *testing.T) {
	jsonschema.Published(t, "../../docs/schema/truth.v1.json", TruthSchema, Truth{}, ".")
}
