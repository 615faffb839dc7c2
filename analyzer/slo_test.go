package analyzer

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// loadsOf makes one judged run per load with k misses of n.
func loadsOf(xs []float64, n int64, k func(x float64) int64) []*load {
	var loads []*load
	for _, x := range xs {
		r := &run{level: trace.Level{OfferedPerS: x}, misses: [][blocksPerRun]tally{{{k: k(x), n: n}}}, spread: make([][blocksPerRun]histogram, 1)}
		loads = append(loads, &load{perS: x, x: x, judged: []*run{r}, all: []*run{r}, steady: true})
	}
	return loads
}

func TestBracketOf(t *testing.T) {
	xs := []float64{10, 20, 30, 40}
	o := Objective{Metric: "error_rate", MaxShare: 0.01}
	tests := []struct {
		name      string
		misses    []int64
		verdict   Verdict
		low, high *float64
	}{
		{"between", []int64{0, 0, 100, 200}, Found, new(20.0), new(30.0)},
		{"one undecided", []int64{0, 10, 100, 200}, Found, new(10.0), new(30.0)},
		{"holds everywhere", []int64{0, 0, 0, 0}, NotFound, new(40.0), nil},
		{"broken everywhere", []int64{90, 90, 90, 90}, Found, nil, new(10.0)},
		{"nothing proven", []int64{10, 10, 10, 10}, Insufficient, nil, nil},
		{"not proven to break", []int64{0, 0, 15, 15}, Insufficient, new(20.0), nil},
		{"a good load above a bad one does not count", []int64{0, 100, 0, 200}, Found, new(10.0), new(40.0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i := -1
			got := bracketOf(loadsOf(xs, 1000, func(float64) int64 { i++; return test.misses[i] }), o, 0)
			want := LambdaSLO{Verdict: test.verdict, Low: test.low, High: test.high, SLO: new("error_rate 1%"), Reason: got.Reason}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What an objective lacks is said in requests: 0 of n proves 1 % from 368 on
// (ln 0.025 ÷ ln 0.99 = 367.04).
func TestBracketSaysWhatIsMissing(t *testing.T) {
	o := Objective{Metric: "ttft_user", Quantile: 0.99, Max: 1}
	got := bracketOf(loadsOf([]float64{10, 20}, 300, func(float64) int64 { return 0 }), o, 0)
	// Both loads together prove it at the lower: it would be broken at both.
	if got.Verdict != Insufficient || got.Low == nil || *got.Low != 10 || !strings.Contains(got.Reason, "at 20/s 0 of 300 miss it: about 7") || !strings.HasSuffix(got.Reason, "more requests there would tell") {
		t.Errorf("%+v", got)
	}
	if n := needed(0, 300, 0.01); n < 367.04 || n > 376 {
		t.Errorf("needed %g, want 367.04 to the 2 %% of a step", n)
	}
	if n := needed(3, 300, 0.01); n != 0 {
		t.Errorf("at the limit itself %g would do", n)
	}
}

// The bracket covers the true λ_SLO in at least 0.985 of runs, also where the
// server sheds and the error rate jumps off.
func TestCalibrateBracket(t *testing.T) {
	curves := map[string]func(x float64) float64{
		"onset": func(x float64) float64 { return 0.001 * math.Exp(max(0, x-50)/8) },
		"shed":  func(x float64) float64 { return 0.001 + 0.999*max(0, 1-55/x) },
	}
	// Where the curves cross 1 %.
	truths := map[string]float64{"onset": 50 + 8*math.Log(10), "shed": 55 / (1 - 0.009/0.999)}
	var xs []float64
	for x := 10.0; x <= 110; x += 10 {
		xs = append(xs, x)
	}
	o := Objective{Metric: "error_rate", MaxShare: 0.01}
	n := scale(400, 2000)
	for name, rate := range curves {
		missed := 0
		for i := range n {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			got := bracketOf(loadsOf(xs, 2000, func(x float64) int64 {
				k := int64(0)
				for range 2000 {
					if rng.Float64() < rate(x) {
						k++
					}
				}
				return k
			}), o, 0)
			if got.Low != nil && *got.Low > truths[name] || got.High != nil && *got.High < truths[name] {
				missed++
			}
		}
		if share := float64(missed) / float64(n); share > 0.015+2.5*math.Sqrt(0.015*0.985/float64(n)) {
			t.Errorf("%s: the bracket misses the truth in %.3f of runs", name, share)
		}
	}
}
