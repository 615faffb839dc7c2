package tracedir

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestWriteAndRead(t *testing.T) {
	for _, live := range []bool{false, true} {
		path := t.TempDir()
		w, err := Create(path, sealed(), Options{Live: live, Host: "host-1.a"})
		if err != nil {
			t.Fatal(err)
		}
		want := makeRecords(rand.New(rand.NewPCG(1, 1)), 300)
		var features []*trace.Features
		var bodies []*trace.Body
		for _, r := range want {
			if r.Features != nil {
				features = append(features, r.Features)
			}
			for i := range r.Bodies {
				bodies = append(bodies, &r.Bodies[i])
			}
			if err := w.Write(clone(r)); err != nil {
				t.Fatal(err)
			}
		}
		windows := []*trace.CaptureWindow{
			{Source: "pcap", WindowNs: 1e9, ExchangesSeen: 3, LostByReason: map[string]int64{"gap": 7}},
			{Source: "pcap", WindowStartUnixNs: 1e9, WindowNs: 1e9, LostByReason: map[string]int64{}, OpenAtEnd: 2},
		}
		samples := []*trace.Sample{{AtUnixNs: 1, Source: trace.SampleHost, Metric: "m", Value: new(0.5)}, {AtUnixNs: 2, Reason: new("gone")}}
		for i := range windows {
			if err := errors.Join(w.WriteCapture(windows[i]), w.WriteSample(samples[i])); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		d := open(t, path)
		for table, diff := range map[string]string{
			"requests":  cmp.Diff(want, collect[trace.Record](t, d), asRead),
			"features":  cmp.Diff(features, collect[trace.Features](t, d)),
			"bodies":    cmp.Diff(bodies, collect[trace.Body](t, d)),
			"capture":   cmp.Diff(windows, collect[trace.CaptureWindow](t, d)),
			"telemetry": cmp.Diff(samples, collect[trace.Sample](t, d)),
		} {
			if diff != "" {
				t.Errorf("live=%v: %s changed:\n%s", live, table, diff)
			}
		}
		if got := d.Warnings(); len(got) != 0 {
			t.Errorf("live=%v: warnings %q", live, got)
		}
	}
}

func TestPartsAreCutBySize(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{MaxPartBytes: 300_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range benchRecords(3000, 10) {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	parts := d.parts[tableRequests]
	if len(parts) < 3 {
		t.Fatalf("%d parts, want several", len(parts))
	}
	for i, p := range parts {
		if want := (partName{host: defaultHost, first: i, last: i}); p.name != want {
			t.Errorf("part %d is %v, want %v", i, p.name, want)
		}
	}
	if got := len(collect[trace.Record](t, d)); got != 3000 {
		t.Errorf("%d rows, want 3000", got)
	}
}

func TestFooterMetadata(t *testing.T) {
	m := sealed()
	m.Source = &trace.Source{Format: "azure2023", SHA256: "ab", License: "CC-BY-4.0"}
	path := t.TempDir()
	w, err := Create(path, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(new(trace.Record)), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, pq, err := openPart(filepath.Join(path, tableRequests, partName{host: defaultHost}.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got := make(map[string]string)
	for _, kv := range pq.Metadata().KeyValueMetadata {
		got[kv.Key] = kv.Value
	}
	want := map[string]string{
		"table": "requests", "schema_version": "1", "trace_id": "T1", "origin": "capture", "time_base": "unix",
		"semconv": "0.1.0", "version": "test", "sanitizer_mode": "shape", "sanitizer_version": "test", "policy_hash": "p1",
		"source_format": "azure2023", "source_sha256": "ab", "source_license": "CC-BY-4.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata: %s", diff)
	}
}

func TestCreateRefuses(t *testing.T) {
	unsealed := sealed()
	unsealed.Seal = nil
	if _, err := Create(t.TempDir(), unsealed, Options{}); !errors.Is(err, trace.ErrUnsanitized) {
		t.Errorf("no seal: error %v", err)
	}
	for _, host := range []string{"a/b", "..\x00", strings.Repeat("x", 65)} {
		if _, err := Create(t.TempDir(), sealed(), Options{Host: host}); err == nil {
			t.Errorf("host %q: no error", host)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(file, sealed(), Options{Force: true}); err == nil {
		t.Error("a file in place of the directory: no error")
	}
}

// makeTrace writes a small trace and returns its path.
func makeTrace(t *testing.T, rows int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range makeRecords(rand.New(rand.NewPCG(2, 1)), rows) {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.SetLevels(nil), w.SetMarks(nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestForce(t *testing.T) {
	tests := []struct {
		name  string
		add   string // a file put into the old trace
		force bool
		ok    bool
	}{
		{"without force", "", false, false},
		{"with force", "", true, true},
		{"report and temporary files belong to it", "report.html", true, true},
		{"unfinished part", "requests/part-local-000000003-000000003.parquet.tmp", true, true},
		{"foreign file", "thesis.docx", true, false},
		{"foreign file in a table", "requests/notes.txt", true, false},
		{"foreign folder", "photos/a.jpg", true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := makeTrace(t, 10)
			if tt.add != "" {
				name := filepath.Join(path, filepath.FromSlash(tt.add))
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("x"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			before := listing(t, path)
			w, err := Create(path, sealed(), Options{Force: tt.force})
			if tt.ok {
				if err := errors.Join(err, w.Close()); err != nil {
					t.Fatal(err)
				}
				if got := listing(t, path); !slices.Equal(got, []string{manifestFile}) {
					t.Errorf("left: %q", got)
				}
				return
			}
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "choose another path") {
				t.Errorf("error %v, want ErrExist with a hint", err)
			}
			if got := listing(t, path); !slices.Equal(got, before) {
				t.Errorf("files changed from %q to %q", before, got)
			}
		})
	}
}

// Other tools write files of the same names.
func TestForceLeavesOthersDocuments(t *testing.T) {
	for name, text := range map[string]string{manifestFile: `{"name":"app"}`, "report.html": "<p>mine", "levels.json": "{}", manifestFile + tmpSuffix: ""} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(path, sealed(), Options{Force: true}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: error %v, want ErrExist", name, err)
		}
		if got, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestForceFollowsNoLinks(t *testing.T) {
	path, outside := makeTrace(t, 10), t.TempDir()
	kept := filepath.Join(outside, partName{host: "x"}.String())
	err := errors.Join(os.WriteFile(kept, []byte("x"), 0o644), os.RemoveAll(filepath.Join(path, tableBodies)),
		os.Symlink(outside, filepath.Join(path, tableBodies)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, sealed(), Options{Force: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want ErrExist", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error("a file behind a link was removed")
	}
}

func listing(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDocuments(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	levels := []trace.Level{{Index: 0, OfferedPerS: 2.5, Outcomes: map[trace.Outcome]int64{trace.OutcomeOK: 3}, LagP50Us: new(int64(4))}}
	marks := []trace.Mark{{ID: "f1", Effect: trace.EffectSeen, Level: new(int32(0))}}
	err = errors.Join(w.SetLevels(levels), w.SetMarks(marks),
		w.SetManifest(func(m *trace.Manifest) { m.Clean = true; m.Losses.ExchangesSeen = 7 }))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetManifest(func(m *trace.Manifest) { m.Seal = nil }); !errors.Is(err, trace.ErrUnsanitized) {
		t.Errorf("breaking the seal: error %v", err)
	}
	if err := w.SetLevels([]trace.Level{{OfferedPerS: math.NaN()}}); err == nil {
		t.Error("a NaN in levels.json: no error")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	gotLevels, err := d.Levels()
	if diff := cmp.Diff(levels, gotLevels); diff != "" || err != nil {
		t.Errorf("levels: %v %s", err, diff)
	}
	gotMarks, err := d.Marks()
	if diff := cmp.Diff(marks, gotMarks); diff != "" || err != nil {
		t.Errorf("marks: %v %s", err, diff)
	}
	want := sealed()
	want.Schema, want.SchemaVersion, want.Clean, want.Losses.ExchangesSeen = trace.ManifestSchema, 1, true, 7
	want.Warnings = []string{} // never null
	if diff := cmp.Diff(want, d.Manifest()); diff != "" {
		t.Errorf("manifest: %s", diff)
	}
}

func TestTraceIDIsFilledIn(t *testing.T) {
	m := sealed()
	m.TraceID = ""
	path := t.TempDir()
	w, err := Create(path, m, Options{})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if id := open(t, path).Manifest().TraceID; len(id) < 16 || m.TraceID != "" {
		t.Errorf("trace id %q; the caller's manifest has %q", id, m.TraceID)
	}
}

func TestClosedWriterRefuses(t *testing.T) {
	for _, live := range []bool{false, true} {
		w, err := Create(t.TempDir(), sealed(), Options{Live: live})
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(new(trace.Record)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("live=%v: error %v, want ErrClosed", live, err)
		}
	}
}

// A clean end is known once all rows are there, and never where they are not.
func TestCleanOnlyWhenComplete(t *testing.T) {
	clean := func(m *trace.Manifest) { m.Clean = true }
	for _, live := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "trace")
		full := false
		s := noSeams()
		s.ticks = make(chan time.Time)
		s.create = func(path string) (partFile, error) {
			if full {
				return nil, syscall.ENOSPC
			}
			return createFile(path)
		}
		w, err := create(path, &trace.Manifest{Origin: trace.OriginCapture, Seal: &trace.Seal{Mode: trace.ModeShape, Version: "1"}}, Options{Live: live}, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(new(trace.Record)), w.SetManifest(clean)); err != nil {
			t.Fatal(err)
		}
		if m, err := readManifest(path); err != nil || m.Clean {
			t.Errorf("live %v: clean before the end: %v %v", live, m, err)
		}
		full = true
		if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("live %v: Close: %v", live, err)
		}
		if m, err := readManifest(path); err != nil || m.Clean {
			t.Errorf("live %v: clean though a part is missing: %v %v", live, m, err)
		}
	}
}
