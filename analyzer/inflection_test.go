package analyzer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// observedRuns are r runs a load, one behind the other, of so many seconds.
func observedRuns(loads []float64, r int, seconds int64, fill func(run *ObservedRun, load float64)) []ObservedRun {
	var out []ObservedRun
	at := int64(0)
	for i := range loads {
		for k := range r {
			run := ObservedRun{Level: trace.Level{
				Index: int32(len(out)), Replicate: int32(k), Order: int32(k*len(loads) + i), OfferedPerS: loads[i],
				BeginUnixNs: at, StartUnixNs: at + 2*second, EndUnixNs: at + (2+seconds)*second, DrainedUnixNs: at + (3+seconds)*second,
			}}
			fill(&run, loads[i])
			out = append(out, run)
			at += (4 + seconds) * second
		}
	}
	return out
}

// probed asks so many questions in each run; the chance of a right answer is
// that of the question, of the run and of the load.
func probed(rng *rand.Rand, loads []float64, r, questions int, runSD, fallAtTop float64) Observation {
	easy := make([]float64, questions)
	for i := range easy {
		easy[i] = 0.5 + 0.45*rng.Float64()
	}
	top := loads[len(loads)-1]
	o := Observation{Seed: 1}
	o.Runs = observedRuns(loads, r, 60, func(run *ObservedRun, load float64) {
		luck := runSD * rng.NormFloat64()
		run.Answered = int64(60 * load * (1 + 0.01*rng.NormFloat64()))
		for i, p := range easy {
			s := math.Max(0, math.Min(1, p+luck-fallAtTop*(load-loads[0])/(top-loads[0])+0.1*rng.NormFloat64()))
			run.Probes = append(run.Probes, Probe{ID: fmt.Sprint(i), Score: &s})
		}
	})
	return o
}

func TestQualityFall(t *testing.T) {
	loads := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	fell := Inflections(probed(rand.New(rand.NewPCG(1, 1)), loads, 3, 300, 0.02, 0.08))[0]
	if fell.Verdict != Found || *fell.Effect.Low > -8 || *fell.Effect.High < -8 {
		t.Errorf("a fall of 8 points: %+v", fell)
	}
	for _, e := range fell.Evidence {
		t.Logf("%s %s %s", e.Name, e.State, e.Text)
	}
	t.Log(fell.Reason, fell.Missing, *fell.PValue, *fell.Effect.Point, *fell.Effect.Low, *fell.Effect.High)
}

func TestCalibrateQualityFall(t *testing.T) {
	loads := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	for _, c := range []struct {
		r                 int
		fall, least, most float64
	}{{3, 0, 0, .065}, {2, 0, 0, .065}, {3, 0.06, .85, 1}, {2, .06, 0, 1}} {
		n, verdicts := 200, map[Verdict]int{}
		for i := range n {
			v := Inflections(probed(rand.New(rand.NewPCG(uint64(i), 2)), loads, c.r, 300, 0.02, c.fall))[0]
			verdicts[v.Verdict]++
		}
		t.Logf("%+v: %v", c, verdicts)
	}
}
