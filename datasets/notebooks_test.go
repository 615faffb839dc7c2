package datasets

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
)

const notebooks = "../notebooks"

// The notebooks run on the datasets as they are, each in a kernel of its own;
// what they claim of the results they assert themselves.
func TestNotebooksRun(t *testing.T) {
	testenv.Long(t)
	python := testenv.Python(t, "nbclient", "ipykernel", "scipy", "matplotlib", "duckdb", "polars", "pyarrow")
	out, err := exec.CommandContext(t.Context(), python, filepath.Join(notebooks, "run.py")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if got, want := strings.Count(string(out), " figures, "), len(notebookFiles(t)); got != want {
		t.Errorf("%d notebooks ran, want %d", got, want)
	}
}

// What is committed has no outputs: nothing that somebody's machine drew or
// printed, and no difference where nothing changed.
func TestNotebooksAreStripped(t *testing.T) {
	for _, path := range notebookFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var notebook struct {
			Cells []struct {
				Type           string            `json:"cell_type"`
				Outputs        []json.RawMessage `json:"outputs"`
				ExecutionCount *int              `json:"execution_count"`
			} `json:"cells"`
		}
		if err := json.Unmarshal(data, &notebook); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		code := 0
		for i, cell := range notebook.Cells {
			if cell.Type == "code" {
				code++
			}
			if len(cell.Outputs) > 0 || cell.ExecutionCount != nil {
				t.Errorf("%s: cell %d has outputs: jupyter nbconvert --clear-output --inplace", path, i)
			}
		}
		if code < 3 {
			t.Errorf("%s: %d cells of code", path, code)
		}
	}
}

func notebookFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(notebooks, "*.ipynb"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d notebooks: %v", len(files), err)
	}
	return files
}
