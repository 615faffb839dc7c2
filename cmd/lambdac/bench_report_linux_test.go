package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/analyzer/report"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// BenchmarkReport is the full report of 16 loads of three runs of 5,000 requests:
// reading, analysis and the page.
func BenchmarkReport(b *testing.B) {
	run := filepath.Join(b.TempDir(), "run")
	writeLargeRun(b, run, 16, 3, 5000, 1)
	slo, err := analyzer.ParseObjective("ttft_user p99 800ms")
	if err != nil {
		b.Fatal(err)
	}
	levels := 0
	before := cpuTime(b)
	b.ReportAllocs()
	for b.Loop() {
		dir, err := tracedir.Open(run)
		if err != nil {
			b.Fatal(err)
		}
		a, err := analyzer.Analyze(dir, analyzer.Options{Objectives: []analyzer.Objective{slo}})
		if err != nil {
			b.Fatal(err)
		}
		if err := report.HTML(io.Discard, a); err != nil {
			b.Fatal(err)
		}
		levels = len(a.Levels)
	}
	b.ReportMetric((cpuTime(b)-before).Seconds()/float64(b.N), "cpu-s/op")
	if levels != 16 {
		b.Fatalf("%d levels", levels)
	}
}
