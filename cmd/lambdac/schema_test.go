package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lambdac/lambdac/internal/experiment"
	"github.com/lambdac/lambdac/internal/jsonschema"
)

var _ = flag.Bool("update", false, "write the published schemas")

func TestPublishedSchemas(t *testing.T) {
	jsonschema.Published(t, "../../docs/schema/doctor-target.v1.json", clientSchema, clientResult{}, ".", "../../replayer")
	jsonschema.Published(t, "../../docs/schema/outlook.v1.json", outlookSchema, outlook{}, ".", "../../replayer")
	jsonschema.Published(t, "../../docs/schema/fault-proxy.v1.json", faultProxySchema, faultProxyResult{}, ".", "../../internal/fault")
	jsonschema.Published(t, "../../docs/schema/run.v1.json", runSchema, runResult{}, ".", "../../trace", "../../internal/telemetry")
	jsonschema.PublishedInput(t, "../../docs/schema/record-config.v1.json", "lambdac record --config", recordConfig{}, ".", "../../trace")
	jsonschema.PublishedInput(t, "../../docs/schema/experiment.v1.json", "lambdac run", experiment.Document{}, "../../internal/experiment")
	jsonschema.Published(t, "../../docs/schema/experiment-result.v1.json", experimentSchema, experimentResult{}, ".", "../../analyzer")
	jsonschema.Published(t, "../../docs/schema/demo.v1.json", demoSchema, demoResult{}, ".", "../../analyzer")
}

// schemas is the folder of the published schemas, by absolute path: a script
// runs elsewhere.
var schemas = func() string {
	dir, err := filepath.Abs("../../docs/schema")
	if err != nil {
		panic(err)
	}
	return dir
}()

// validate checks JSON files ("stdout" is the last command's) against the
// published schema that the document names.
func validate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: validate FILE…")
	}
	for _, file := range args {
		document := []byte(ts.ReadFile(file))
		var named struct {
			Schema string `json:"schema"`
		}
		ts.Check(json.Unmarshal(document, &named))
		// lambdac.NAME/v1 is in NAME.v1.json
		name := filepath.Base(filepath.Dir(named.Schema))
		schema, err := os.ReadFile(filepath.Join(schemas, name[len("lambdac."):]+"."+filepath.Base(named.Schema)+".json"))
		ts.Check(err)
		if err := jsonschema.Validate(schema, document); err != nil {
			ts.Fatalf("%s is no %s:\n%v", file, named.Schema, err)
		}
	}
}
