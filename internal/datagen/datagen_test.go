package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

const published = "../../datasets/data"

// The committed datasets are what the program makes, row for row (not byte for
// byte: a Parquet footer has its metadata in no order).
func TestDatasetsAreReproducible(t *testing.T) {
	testenv.Long(t)
	for _, d := range all() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), d.name)
			if err := d.write(path); err != nil {
				t.Fatal(err)
			}
			made, kept := open(t, path), open(t, filepath.Join(published, d.name))
			equalRows[trace.Record](t, "requests", kept, made)
			equalRows[trace.Features](t, "features", kept, made)
			equalRows[trace.Sample](t, "telemetry", kept, made)
			if diff := cmp.Diff(kept.Manifest(), made.Manifest()); diff != "" {
				t.Errorf("manifest (-kept +made):\n%s", diff)
			}
			keptLevels, err := kept.Levels()
			if err != nil {
				t.Fatal(err)
			}
			madeLevels, err := made.Levels()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(keptLevels, madeLevels); diff != "" {
				t.Errorf("levels (-kept +made):\n%s", diff)
			}
			card, err := os.ReadFile(filepath.Join(published, d.name+".md"))
			if err != nil || string(card) != d.card() {
				t.Errorf("its card is not what the program writes: %v", err)
			}
		})
	}
}

func open(t *testing.T, path string) *tracedir.Dir {
	t.Helper()
	d, err := tracedir.Open(path)
	if err != nil {
		t.Fatalf("%v; make datasets writes it", err)
	}
	return d
}

func equalRows[T any](t *testing.T, table string, kept, made *tracedir.Dir) {
	t.Helper()
	want, got := rows[T](t, kept), rows[T](t, made)
	if !reflect.DeepEqual(want, got) { // which is much faster than to say where
		t.Errorf("%s (-kept +made), make datasets writes them anew:\n%.2000s", table, cmp.Diff(want, got))
	}
}

func rows[T any](t *testing.T, d *tracedir.Dir) (list []*T) {
	t.Helper()
	for row, err := range tracedir.Rows[T](d) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	return list
}

// What is said of a dataset is true of it: the analysis of today finds in each
// what it was made for, and the committed one is no other.
func TestDatasetsShowWhatTheyAreFor(t *testing.T) {
	testenv.Long(t)
	for name, want := range map[string]string{
		"saturated":                  "lambda_c",
		"pathology-batch-quality":    "throughput_up_accuracy_down",
		"pathology-kv-fragmentation": "oom_below_cpu_60",
		"pathology-cold-pages":       "p99_jump_low_concurrency",
	} {
		t.Run(name, func(t *testing.T) {
			now, err := analyzer.Analyze(open(t, filepath.Join(published, name)), analyzer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(published, name, "analysis.json"))
			if err != nil {
				t.Fatal(err)
			}
			then := new(analyzer.Analysis)
			if err := json.Unmarshal(text, then); err != nil {
				t.Fatal(err)
			}
			for _, a := range []*analyzer.Analysis{now, then} {
				if !found(a, want) {
					t.Errorf("%s is not found", want)
				}
			}
			if p, q := now.LambdaC.Point, then.LambdaC.Point; p != nil && (q == nil || math.Abs(*p-*q) > 1e-3**p) {
				t.Errorf("λc is %v, and %v in analysis.json: make datasets", *p, q)
			}
		})
	}
}

func found(a *analyzer.Analysis, what string) bool {
	if what == "lambda_c" {
		return a.LambdaC.Verdict == analyzer.Found
	}
	for _, i := range a.Inflections {
		if i.ID == what {
			return i.Verdict == analyzer.Found
		}
	}
	return false
}
