package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/testenv"
)

// TestOtherTools: the programs of docs/other-tools.md make tables of what other
// tools write. The samples are made by hand, in the names of those tools.
func TestOtherTools(t *testing.T) {
	jq := testenv.Command(t, "jq")
	type row struct {
		Load             float64
		N, Errors, Sheds int64
		P99Ms, Tokens    *float64
	}
	for tool, want := range map[string]row{
		"guidellm": {Load: 4, N: 240, Errors: 1, P99Ms: new(140.25), Tokens: new(512.4)},
		"aiperf":   {Load: 4, N: 240, Errors: 1, P99Ms: new(140.25), Tokens: new(512.4)},
		"vllm":     {Load: 4, N: 240, Errors: 1, P99Ms: new(140.25), Tokens: new(512.4)},
		"k6":       {Load: 4, N: 237, Errors: 1},
		"vegeta":   {Load: 4, N: 240, Errors: 3, Sheds: 2},
	} {
		folder := filepath.Join("..", "..", "docs", "examples", "other-tools")
		text, err := exec.Command(jq, "-rs", "-f", filepath.Join(folder, tool+".jq"), filepath.Join(folder, tool+".json")).Output()
		if err != nil {
			t.Fatalf("%s: %v", tool, withStderr(err))
		}
		table, err := analyzer.ReadTable(bytes.NewReader(text), tool)
		if err != nil {
			t.Fatal(err)
		}
		if len(table.Warnings) > 0 {
			t.Errorf("%s: %q", tool, table.Warnings)
		}
		a, err := analyzer.AnalyzeTable(table, analyzer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := &a.Levels[0]
		got := row{Load: l.OfferedPerS, N: l.N, Errors: l.Errors, Sheds: l.Sheds}
		if p := l.TTFTUserUs.P99; p != nil {
			got.P99Ms = new(*p / 1000)
		}
		if p := l.OutputTokensPerS; p != nil {
			got.Tokens = new(float64(int(*p*10+0.5)) / 10)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool, diff)
		}
	}
}
