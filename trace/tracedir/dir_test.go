package tracedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name     string
		manifest string // "" = none
		is       error
		says     string
	}{
		{"no manifest", "", trace.ErrUnsanitized, "manifest.json"},
		{"no seal", `{"schema":"lambdac.manifest/v1","trace_id":"x"}`, trace.ErrUnsanitized, "not sealed"},
		{"half a seal", `{"schema":"lambdac.manifest/v1","seal":{"mode":"shape"}}`, trace.ErrUnsanitized, "not sealed"},
		{"no JSON", `{"schema`, nil, "parse manifest.json"},
		{"another schema", `{"schema":"other/v1","seal":{"mode":"shape","version":"1"}}`, nil, `schema "other/v1"`},
	}
	for _, tt := range tests {
		path := t.TempDir()
		if tt.manifest != "" {
			if err := os.WriteFile(filepath.Join(path, manifestFile), []byte(tt.manifest), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.says)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: error %v", err)
	}
}

func TestNewerSchemaIsReadWithAWarning(t *testing.T) {
	path := makeTrace(t, 5)
	data, err := os.ReadFile(filepath.Join(path, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(data), `"schema_version": 1`, `"schema_version": 9`, 1)
	if err := os.WriteFile(filepath.Join(path, manifestFile), []byte(newer), 0o644); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	if got := d.Warnings(); len(got) != 1 || !strings.Contains(got[0], "schema version 9") {
		t.Errorf("warnings %q", got)
	}
	if got := len(collect[trace.Record](t, d)); got != 5 {
		t.Errorf("%d rows", got)
	}
}

// TestChosenParts puts copies of good and bad files under the names of parts.
func TestChosenParts(t *testing.T) {
	tests := []struct {
		name   string
		good   []string // files that are whole
		bad    []string // files that are not
		use    []string
		warned []string
	}{
		{
			"crash between rename and removal",
			[]string{"part-a-000000000-000000007.parquet", "part-a-000000000-000000000.parquet", "part-a-000000007-000000007.parquet", "part-a-000000008-000000008.parquet"},
			nil,
			[]string{"part-a-000000000-000000007.parquet", "part-a-000000008-000000008.parquet"},
			nil,
		},
		{
			"damaged outer part gives way to its sources",
			[]string{"part-a-000000000-000000000.parquet", "part-a-000000001-000000001.parquet"},
			[]string{"part-a-000000000-000000001.parquet"},
			[]string{"part-a-000000000-000000000.parquet", "part-a-000000001-000000001.parquet"},
			[]string{"requests: 1 damaged or empty parts ignored: part-a-000000000-000000001.parquet"},
		},
		{
			"two hosts number for themselves",
			[]string{"part-a-000000000-000000009.parquet", "part-b-000000003-000000003.parquet", "part-a-b-000000003-000000003.parquet"},
			nil,
			[]string{"part-a-000000000-000000009.parquet", "part-a-b-000000003-000000003.parquet", "part-b-000000003-000000003.parquet"},
			nil,
		},
		{
			"temporary, strange and empty files",
			[]string{"part-a-000000001-000000001.parquet"},
			[]string{"part-a-000000000-000000000.parquet", "part-a-000000002-000000002.parquet.tmp", "part-a-3-3.parquet", "part-a-000000005-000000004.parquet"},
			[]string{"part-a-000000001-000000001.parquet"},
			[]string{
				"requests: 1 unfinished files of an interrupted writer ignored: part-a-000000002-000000002.parquet.tmp",
				"requests: 2 files that are no parts ignored: part-a-000000005-000000004.parquet, part-a-3-3.parquet",
				"requests: 1 damaged or empty parts ignored: part-a-000000000-000000000.parquet",
			},
		},
		{
			"ranges that cross",
			[]string{"part-a-000000000-000000003.parquet", "part-a-000000002-000000005.parquet"},
			nil,
			[]string{"part-a-000000000-000000003.parquet", "part-a-000000002-000000005.parquet"},
			[]string{"requests: part-a-000000000-000000003.parquet and part-a-000000002-000000005.parquet share a part of their ranges: rows may be there twice"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := makeTrace(t, 5)
			folder := filepath.Join(path, tableRequests)
			first := filepath.Join(folder, partName{host: defaultHost}.String())
			data, err := os.ReadFile(first)
			if err := errors.Join(err, os.Remove(first)); err != nil {
				t.Fatal(err)
			}
			for _, name := range tt.good {
				if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for i, name := range tt.bad {
				if err := os.WriteFile(filepath.Join(folder, name), data[:i*len(data)/5], 0o644); err != nil {
					t.Fatal(err)
				}
			}
			d := open(t, path)
			var used []string
			for _, p := range d.parts[tableRequests] {
				used = append(used, p.name.String())
			}
			if diff := cmp.Diff(tt.use, used); diff != "" {
				t.Errorf("parts used: %s", diff)
			}
			if diff := cmp.Diff(tt.warned, d.Warnings()); diff != "" {
				t.Errorf("warnings: %s", diff)
			}
		})
	}
}

func TestEmptyTrace(t *testing.T) {
	d := open(t, makeTrace(t, 0))
	if got := len(collect[trace.Record](t, d)); got != 0 || len(d.Warnings()) != 0 {
		t.Errorf("%d rows, warnings %q", got, d.Warnings())
	}
}
