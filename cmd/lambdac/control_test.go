package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// TestControlArm: `lambdac run` replays the synthetic trace after the recorded one
// at the same loads, and tells the λc of both.
func TestControlArm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "control.yaml")
	text := "apiVersion: lambdac/v1\nkind: Experiment\nmetadata: {name: control}\nspec:\n  trace: {path: traces/healthy}\n  target: {url: http://127.0.0.1:8000}\n" +
		"  load: {levels: [5, 20], hold: 10s, warmup: 1s}\n  control: {synthetic: true}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := runInVirtualTime(t, file, "")
	if a.Control == nil || a.Control.Validity.Verdict != trace.Valid || a.Control.Reason == "" { // two loads tell no λc
		t.Fatalf("control arm %+v", a.Control)
	}
}

// TestAgain: the control arm of a search holds the loads that the search ran.
func TestAgain(t *testing.T) {
	ran := again{{OfferedPerS: 5}, {OfferedPerS: 40}, {OfferedPerS: 5}}
	var done []trace.Level
	for l, ok := ran.Next(nil); ok; l, ok = ran.Next(done) {
		done = append(done, l)
	}
	if len(done) != 3 || done[0].OfferedPerS != 5 || done[1].OfferedPerS != 40 || done[2].OfferedPerS != 5 {
		t.Error(done)
	}
}
