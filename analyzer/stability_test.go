package analyzer

import (
	"math"
	"testing"

	"github.com/lambdac/lambdac/internal/twin"
)

// A queue without an end refuses nothing: no error shows its capacity, but what
// it answers while it falls behind does.
func TestStabilityOfAQueue(t *testing.T) {
	p, mix := twin.DemoParams(1), twin.BuiltinMix(1)
	p.MaxQueue = twin.Unbounded
	capacity, err := twin.Capacity(p, mix.Jobs, 1)
	if err != nil {
		t.Fatal(err)
	}
	answers := capacity.Value * (1 - p.ErrorRate) // it serves the failing ones too
	seeds := scale(10, 100)
	type result struct {
		bracket, covered bool
		off              float64
	}
	results := parallel(seeds, func(seed int) result {
		var runs []*run
		for i, load := range demoLoads(capacity.Value) {
			runs = append(runs, twinRun(t, p, mix, load, 14, uint64(30_000_000+100*seed+i)))
		}
		s := stabilityOf(groupLoads(runs, false))
		if s.Verdict != Found || s.Low == nil || s.Served.Point == nil {
			t.Errorf("seed %d: %+v", seed, s)
			return result{}
		}
		return result{
			bracket: *s.Low <= capacity.Value && capacity.Value <= *s.High,
			covered: *s.Served.Low <= answers && answers <= *s.Served.High,
			off:     *s.Served.Point/answers - 1,
		}
	})
	brackets, covered, worst := 0, 0, 0.0
	for _, r := range results {
		if r.bracket {
			brackets++
		}
		if r.covered {
			covered++
		}
		worst = max(worst, math.Abs(r.off))
	}
	t.Logf("%d of %d brackets and %d intervals hold the capacity; the worst point is off by %.1f %%", brackets, seeds, covered, 100*worst)
	if float64(brackets) < 0.95*float64(seeds) || float64(covered) < 0.8*float64(seeds) || worst > 0.03 {
		t.Errorf("%d of %d brackets and %d intervals hold the capacity; the worst point is off by %.1f %%", brackets, seeds, covered, 100*worst)
	}
}

func TestStability(t *testing.T) {
	at := func(load float64, steady bool, answered float64) *loadRuns {
		r := &run{level: levelAt(load), open: presence{answeredLate: answered}}
		return &loadRuns{perS: load, judged: []*run{r}, steady: steady}
	}
	tests := []struct {
		name      string
		loads     []*loadRuns
		verdict   Verdict
		low, high *float64
		served    *float64
	}{
		{"none", nil, Insufficient, nil, nil, nil},
		{"all kept up", []*loadRuns{at(10, true, 40), at(20, true, 80)}, NotFound, new(20.0), nil, nil},
		{"two fall behind", []*loadRuns{at(10, true, 40), at(20, false, 60), at(30, false, 60)}, Found, new(10.0), new(20.0), new(15.0)},
		{"one is not enough for an interval", []*loadRuns{at(10, true, 40), at(20, false, 60)}, Found, new(10.0), new(20.0), nil},
		{"a load that only fills up once", []*loadRuns{at(10, false, 40), at(20, true, 80)}, NotFound, new(20.0), nil, nil},
		{"one seems to by chance", []*loadRuns{at(10, false, 40), at(20, false, 60), at(30, false, 60)}, Found, new(10.0), new(20.0), new(15.0)},
		{"one does not by chance", []*loadRuns{at(10, true, 40), at(20, true, 60), at(30, false, 60), at(40, false, 60)}, Found, new(10.0), new(20.0), new(15.0)},
		{"all fall behind", []*loadRuns{at(10, false, 20), at(20, false, 20)}, Found, nil, new(10.0), new(5.0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stabilityOf(test.loads)
			if s.Verdict != test.verdict || !same(s.Low, test.low) || !same(s.High, test.high) || !same(s.Served.Point, test.served) {
				t.Errorf("%+v", s)
			}
		})
	}
}

type loadRuns = load

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
