package analyzer

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseObjective(t *testing.T) {
	tests := []struct {
		text string
		want Objective
	}{
		{"ttft_user p99 800ms", Objective{Metric: "ttft_user", Quantile: 0.99, Max: 800 * time.Millisecond}},
		{"ttft_user p99 < 800ms", Objective{Metric: "ttft_user", Quantile: 0.99, Max: 800 * time.Millisecond}},
		{"tpot p50 20ms", Objective{Metric: "tpot", Quantile: 0.5, Max: 20 * time.Millisecond}},
		{"e2e p99.9 1m30s", Objective{Metric: "e2e", Quantile: 0.999, Max: 90 * time.Second}},
		{"error_rate 0.5%", Objective{Metric: "error_rate", MaxShare: 0.005}},
		{"shed_rate <0.01", Objective{Metric: "shed_rate", MaxShare: 0.01}},
	}
	for _, test := range tests {
		got, err := ParseObjective(test.text)
		if err != nil || !near(got.Quantile, test.want.Quantile, 1e-12) || !near(got.MaxShare, test.want.MaxShare, 1e-12) ||
			got.Metric != test.want.Metric || got.Max != test.want.Max {
			t.Errorf("%q: got %+v %v", test.text, got, err)
		}
		again, err := ParseObjective(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%q prints as %q, which reads as %+v %v", test.text, got, again, err)
		}
	}
}

func TestParseObjectiveRefuses(t *testing.T) {
	for _, text := range []string{
		"", "ttft_user", "ttft_user 800ms", "ttft_user p99", "ttft_user p100 1s", "ttft_user pNaN 1s", "ttft_user p99 -1s", "ttft_user p99 800",
		"error_rate", "error_rate 0", "error_rate 100%", "error_rate NaN", "error_rate p99 1s", "latency p99 1s",
	} {
		_, err := ParseObjective(text)
		if !errors.Is(err, ErrObjective) || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func FuzzParseObjective(f *testing.F) {
	for _, seed := range []string{"ttft_user p99 800ms", "error_rate 0.5%", "shed_rate <0.01", "e2e p99.99999 1ns", "error_rate 1e-300%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseObjective(text)
		if err != nil {
			return
		}
		again, err := ParseObjective(o.String())
		if err != nil || again.String() != o.String() {
			t.Errorf("%q reads as %q, which reads as %q %v", text, o, again, err)
		}
	})
}
