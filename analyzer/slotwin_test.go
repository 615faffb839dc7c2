package analyzer

import (
	"math"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// ladder is a set of loads in units of the capacity.
type ladder struct {
	name       string
	from, step float64
	loads      int
	replicates int
}

// sloCase is one server of the serving model with one ladder of loads.
type sloCase struct {
	name   string
	params func() twin.Params
	ladder ladder
	// bounded: the queue has an end, so that the error rate is bounded rather
	// than the latency.
	bounded bool
}

// sloCases: a wide ladder, one that ends where the queue is nearly always busy,
// one that ends before any objective is surely broken, and one run three times.
// The first two are those of the unit tests.
func sloCases() []sloCase {
	demo := func() twin.Params {
		p := twin.DemoParams(1)
		p.MaxQueue = twin.Unbounded
		return p
	}
	many := func() twin.Params {
		p := twin.DefaultParams()
		p.PrefixCaching, p.MaxQueue = false, twin.Unbounded
		return p
	}
	short := func() twin.Params { return twin.DemoParams(1) }
	wide, fine := ladder{"wide", 0.5, 1.1 / 8, 9, 1}, ladder{"fine", 0.5, 0.06, 9, 1}
	twice := ladder{"two runs a load", 0.55, 0.06, 9, 2}
	low, thrice := ladder{"low", 0.5, 0.06, 7, 1}, ladder{"three runs a load", 0.52, 0.06, 9, 3}
	return []sloCase{
		{"8 running", demo, fine, false},
		{"4 waiting", short, wide, true},
		{"8 running", demo, wide, false},
		{"8 running", demo, low, false},
		{"8 running", demo, thrice, false},
		{"8 running", demo, twice, false},
		{"64 running", many, twice, false},
		{"64 running", many, wide, false},
		{"64 running", many, fine, false},
		{"64 running", many, low, false},
		{"64 running", many, thrice, false},
		{"4 waiting", short, fine, true},
		{"4 waiting", short, low, true},
		{"4 waiting", short, thrice, true},
	}
}

func (c sloCase) objectives() []Objective {
	if c.bounded {
		return []Objective{{Metric: "error_rate", MaxShare: 0.05}, {Metric: "shed_rate", MaxShare: 0.02}}
	}
	ttft := func(q float64, limit time.Duration) Objective {
		return Objective{Metric: "ttft_user", Quantile: q, Max: limit}
	}
	return []Objective{
		ttft(0.5, 50*time.Millisecond), ttft(0.95, 100*time.Millisecond), ttft(0.99, 100*time.Millisecond),
		ttft(0.99, 300*time.Millisecond), ttft(0.95, time.Second),
	}
}

// In a queue slow requests come together, and a window of 14 s may fall between
// two busy periods: a bracket must neither be taken in by that nor prove
// nothing at all. Each of its ends may be wrong in 2.5 % of experiments; what
// is true is a run of 2,000 s at each load (600 s in the unit tests). The rule was
// fixed on other seeds than these, and changed once for several runs of a load,
// which then got new ones; on these, 14 ladders of 200 experiments, the worst
// cell has 5 wrong lower and 5 wrong upper ends of 200.
func TestCalibrateBracketOfTwin(t *testing.T) {
	seeds := scale(20, 200)
	cases := sloCases()
	if seeds < 200 {
		cases = cases[:2]
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.ladder.name, func(t *testing.T) { c.check(t, seeds) })
	}
}

// brackets tallies what brackets of one objective said.
type brackets struct {
	low, high, falseLow, falseHigh int
	// steps is how many loads below the last that holds the proof ended.
	steps int
}

func (c sloCase) check(t *testing.T, seeds int) {
	p, mix := c.params(), twin.BuiltinMix(1)
	capacity, err := twin.Capacity(p, mix.Jobs, 1)
	if err != nil {
		t.Fatal(err)
	}
	xs := make([]float64, c.ladder.loads)
	for i := range xs {
		xs[i] = capacity.Value * (c.ladder.from + c.ladder.step*float64(i))
	}
	objectives := c.objectives()
	truth := parallel(len(xs), func(i int) *load {
		return groupLoads([]*run{twinRun(t, p, mix, xs[i], float64(scale(600, 2000)), uint64(77+i), objectives...)}, false)[0]
	})
	base := uint64(20_000_000 * min(c.ladder.replicates, 2))
	got := parallel(seeds, func(seed int) []LambdaSLO {
		var runs []*run
		for i, x := range xs {
			for r := range c.ladder.replicates {
				runs = append(runs, twinRun(t, p, mix, x, 14, base+uint64(1000*seed+10*i+r), objectives...))
			}
		}
		loads := groupLoads(runs, false)
		var out []LambdaSLO
		for i, o := range objectives {
			out = append(out, bracketOf(loads, o, i))
		}
		return out
	})
	for i, o := range objectives {
		counts := missesOf(truth, i)
		holds := 0 // loads that hold in the long run
		for holds < len(xs) && counts.K[holds] <= o.share()*counts.N[holds] {
			holds++
		}
		var n brackets
		for _, g := range got {
			n.add(g[i], xs, holds)
		}
		n.judge(t, o.String(), holds, seeds)
	}
}

func (n *brackets) add(s LambdaSLO, xs []float64, holds int) {
	for i, x := range xs {
		if s.Low != nil && *s.Low == x {
			n.low++
			n.steps += max(0, holds-1-i)
			if i >= holds {
				n.falseLow++
			}
		}
		if s.High != nil && *s.High == x {
			n.high++
			if i < holds {
				n.falseHigh++
			}
		}
	}
}

func (n *brackets) judge(t *testing.T, objective string, holds, seeds int) {
	short := float64(n.steps) / float64(max(1, n.low))
	t.Logf("%s: %d loads hold; of %d brackets %d prove that some do, %.1f loads short, %d wrongly; %d prove one broken, %d wrongly",
		objective, holds, seeds, n.low, short, n.falseLow, n.high, n.falseHigh)
	limit := 0.025*float64(seeds) + 2.5*math.Sqrt(0.025*0.975*float64(seeds))
	if float64(n.falseLow) > limit || float64(n.falseHigh) > limit {
		t.Errorf("%s: %d and %d of %d ends are wrong, want 2.5 %%", objective, n.falseLow, n.falseHigh, seeds)
	}
	if float64(n.low) < 0.8*float64(seeds) || short > 3.2 {
		t.Errorf("%s: %d of %d prove that any load holds, %.1f loads short", objective, n.low, seeds, short)
	}
}
