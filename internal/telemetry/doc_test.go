package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of docs/telemetry.md")

// TestDocumentedNames holds the table of docs/telemetry.md to the mapping.
func TestDocumentedNames(t *testing.T) {
	const file, begin, end = "../../docs/telemetry.md", "<!-- names -->\n", "<!-- end of names -->\n"
	text := readText(t, file)
	head, rest, ok := strings.Cut(text, begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the marks of the table are gone")
	}
	want := namesTable()
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("run with -update (-want +got):\n%s", diff)
	}
}

func namesTable() string {
	var b strings.Builder
	b.WriteString("| said by | name | source | common name | unit × |\n|---|---|---|---|---|\n")
	for _, m := range mappings() {
		name := "`" + m.raw + "`"
		if m.label != "" {
			name += " {" + m.label + "}"
		}
		if m.plus != "" {
			name += " + `" + m.plus + "`"
		}
		scale := ""
		if m.scale != 0 {
			scale = fmt.Sprintf("%v", m.scale)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s |\n", m.exporter, name, m.source, m.metric, scale)
	}
	return b.String()
}
