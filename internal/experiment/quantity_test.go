package experiment

import (
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/yamlfile"
)

func TestQuantities(t *testing.T) {
	share := func(s string) (any, error) { return ParseShare(s) }
	rate := func(s string) (any, error) { return ParseRate(s) }
	count := func(s string) (any, error) { return ParseCount(s) }
	load := func(s string) (any, error) {
		perS, scale, err := ParseLoad(s)
		return [2]float64{perS, scale}, err
	}
	errors := func(s string) (any, error) {
		share, over, err := ParseErrorRate(s)
		return [2]float64{share, over.Seconds()}, err
	}
	for _, tt := range []struct {
		name  string
		parse func(string) (any, error)
		text  string
		want  any // nil = refused
	}{
		{"share", share, "5%", 0.05},
		{"share", share, "0.05", 0.05},
		{"share", share, " 100 % ", 1.0},
		{"share", share, "101%", nil},
		{"share", share, "0", nil},
		{"share", share, "NaN", nil},
		{"rate", rate, "12/s", 12.0},
		{"rate", rate, "90/min", 1.5},
		{"rate", rate, "12 req/s", 12.0},
		{"rate", rate, "12", nil},
		{"rate", rate, "12/day", nil},
		{"rate", rate, "Inf/s", nil},
		{"rate", rate, "-1/s", nil},
		{"load", load, "0.5", [2]float64{0, 0.5}},
		{"load", load, "20/s", [2]float64{20, 0}},
		{"load", load, "fast", nil},
		{"load", load, "0", nil},
		{"count", count, "2000", int64(2000)},
		{"count", count, "20M", int64(20_000_000)},
		{"count", count, "1.5k", int64(1500)},
		{"count", count, "1.0005k", nil},
		{"count", count, "0", nil},
		{"count", count, "1e99", nil},
		{"count", count, "20MB", nil},
		{"error rate", errors, "50% over 30s", [2]float64{0.5, 30}},
		{"error rate", errors, "50%", nil},
		{"error rate", errors, "50% over 10ms", nil},
		{"error rate", errors, "over 30s", nil},
	} {
		got, err := tt.parse(tt.text)
		if (err == nil) != (tt.want != nil) || err == nil && got != tt.want {
			t.Errorf("%s %q = %v, %v; want %v", tt.name, tt.text, got, err, tt.want)
		}
	}
}

// FuzzParse: whatever a file holds, it is an experiment or refused, and what
// its quantities are can be asked.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "apiVersion: lambdac/v1\nkind: Experiment\nmetadata: {name: a}\nspec:\n  trace: {path: t}\n  target: {url: u}\n  load: {search: {from: 0.5, to: 20/s}}\n",
		"spec: {load: {levels: [1, 2]}, faults: [{type: delay, window: {from: 1s}}]}", "spec: {stop: {errorRate: 50% over 30s, maxTokens: 20M}}", "metadata: {name: !!set}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x := new(Experiment)
		file, err := yamlfile.Decode("x.yaml", text, &x.Document)
		if err != nil || x.checked(file) != nil {
			return
		}
		if _, over, err := ParseErrorRate(x.Spec.Stop.ErrorRate); err == nil && over < time.Second {
			t.Errorf("over %v", over)
		}
		if n, err := ParseCount(x.Spec.Stop.MaxTokens); err == nil && n < 1 {
			t.Errorf("count %d", n)
		}
		if s := x.Spec.Load.Search; s != nil {
			if perS, scale, err := ParseLoad(s.From); err == nil && (perS > 0) == (scale > 0) {
				t.Errorf("load %q is %v and %v", s.From, perS, scale)
			}
		}
	})
}
