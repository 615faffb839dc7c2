package audit

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/internal/jsonschema"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

var _ = flag.Bool("update", false, "write the published schema")

func TestPublishedSchema(t *testing.T) {
	jsonschema.Published(t, "../../docs/schema/audit.v1.json", ReportSchema, Report{}, ".")
}

func manifest() *trace.Manifest {
	return &trace.Manifest{
		Schema: trace.ManifestSchema, SchemaVersion: trace.SchemaVersion, TraceID: "0123456789abcdef0123456789abcdef",
		TimeBase: trace.TimeRelative, Seal: &trace.Seal{Mode: trace.ModeShape, Version: "test"}, Warnings: []string{},
	}
}

// directory writes a trace of a few records and returns its path.
func directory(t *testing.T, change func(r *trace.Record), told func(m *trace.Manifest)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	m := manifest()
	if told != nil {
		told(m)
	}
	w, err := tracedir.Create(path, m, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		r := &trace.Record{}
		r.RequestID, r.Method, r.PathTemplate = strings.Repeat("0", 15)+string(rune('a'+i)), "POST", "/v1/chat/completions"
		if i == 13 && change != nil {
			change(r)
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// audit runs an audit and refuses a report that shows a planted value.
func audit(t *testing.T, dir string, planted ...string) *Report {
	t.Helper()
	r, err := Audit(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range planted {
		if bytes.Contains(out, []byte(p)) {
			t.Errorf("the report shows %q: %s", p, out)
		}
	}
	if r.Clean != (len(r.Findings) == 0) {
		t.Errorf("clean %v with %d findings", r.Clean, len(r.Findings))
	}
	return r
}

func TestClean(t *testing.T) {
	r := audit(t, directory(t, nil, nil))
	if !r.Clean || r.Files < 2 || r.Texts == 0 || r.Bytes == 0 {
		t.Errorf("report %+v", r)
	}
}

func TestFindings(t *testing.T) {
	key := "ghp_" + invent(1, 36, alnum62)
	tests := []struct {
		name     string
		change   func(r *trace.Record)
		manifest func(m *trace.Manifest)
		also     func(t *testing.T, dir string)
		want     []Finding // without what random repeats
	}{
		{
			name: "column", change: func(r *trace.Record) { r.PathTemplate = "/v1/" + key },
			want: []Finding{{Rule: "github_token", Where: "column", Column: "path_template", Row: new(int64(13)), Count: 1}, {Rule: "github_token", Where: "dictionary", Column: "path_template", Count: 1}},
		},
		{
			name: "manifest", manifest: func(m *trace.Manifest) { m.Warnings = []string{"see ann@mail.example.org"} },
			want: []Finding{{Rule: "email", File: "manifest.json", Where: "member", Column: ".warnings[0]", Count: 1}},
		},
		{
			name: "name of a member", manifest: func(m *trace.Manifest) { m.NullReasons = map[string]string{key: "x 203.0.113.7"} },
			want: []Finding{
				{Rule: "github_token", File: "manifest.json", Where: "member", Column: ".null_reasons.*", Count: 1},
				{Rule: "ip", File: "manifest.json", Where: "member", Column: ".null_reasons.*", Count: 1},
			},
		},
		{
			name: "name of a file", also: func(t *testing.T, dir string) { write(t, dir, "notes-of-ann@mail.example.org", "x") },
			want: []Finding{{Rule: "email", File: "*", Where: "name", Count: 1}},
		},
		{
			name: "text", also: func(t *testing.T, dir string) { write(t, dir, "notes.txt", "one\ntwo 4111111111111111\n") },
			want: []Finding{{Rule: "card", File: "notes.txt", Where: "text", Row: new(int64(1)), Count: 1}},
		},
		{
			name: "unfinished part", also: func(t *testing.T, dir string) { write(t, dir, "requests/x.parquet.tmp", "PAR1\x00\x01") },
			want: []Finding{{Rule: "unreadable", File: "requests/x.parquet.tmp", Where: "text", Count: 1, Why: "its Parquet structure is damaged, unfinished or not supported"}},
		},
		{
			name: "damaged JSON", also: func(t *testing.T, dir string) { write(t, dir, "levels.json", `{"a":"ann@mail.example.org"`) },
			want: []Finding{
				{Rule: "email", File: "levels.json", Where: "member", Column: ".a", Count: 1},
				{Rule: "email", File: "levels.json", Where: "text", Row: new(int64(0)), Count: 1},
				{Rule: "unreadable", File: "levels.json", Where: "text", Count: 1, Why: "it is not valid JSON"},
			},
		},
		{
			name: "binary", also: func(t *testing.T, dir string) { write(t, dir, "core", "\x7fELF\x00\xff") },
			want: []Finding{{Rule: "unreadable", File: "core", Where: "text", Count: 1, Why: "it is neither Parquet nor JSON nor text"}},
		},
		{
			name: "link", also: func(t *testing.T, dir string) {
				if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
					t.Fatal(err)
				}
			},
			want: []Finding{{Rule: "unreadable", File: "link", Where: "text", Count: 1, Why: "it is no regular file"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := directory(t, tt.change, tt.manifest)
			if tt.also != nil {
				tt.also(t, dir)
			}
			r := audit(t, dir, key, "4111111111111111", "203.0.113.7", "ann@")
			parts := cmpopts.IgnoreSliceElements(func(f Finding) bool { return f.Rule == "random" })
			for i := range r.Findings {
				if strings.HasSuffix(r.Findings[i].File, ".parquet") {
					r.Findings[i].File = ""
				}
			}
			if d := cmp.Diff(tt.want, r.Findings, parts); d != "" {
				t.Error(d)
			}
		})
	}
}

func write(t *testing.T, dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	write(t, filepath.Dir(file), "x", "")
	for _, dir := range []string{file, file + "-not-there"} {
		if _, err := Audit(dir); err == nil {
			t.Errorf("audit of %q: no error", filepath.Base(dir))
		}
	}
}
