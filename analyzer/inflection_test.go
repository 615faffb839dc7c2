package analyzer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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

// probed asks so many questions in each run, or that many at the highest load and
// fewer below in proportion; the chance of a right answer is that of the question,
// of the run and of the load.
func probed(rng *rand.Rand, loads []float64, r, questions int, runSD, fallAtTop float64, inProportion bool) Observation {
	easy, ids := make([]float64, questions), make([]string, questions)
	for i := range easy {
		ids[i] = fmt.Sprint(i)
		easy[i] = 0.5 + 0.45*rng.Float64()
	}
	top := loads[len(loads)-1]
	o := Observation{Seed: 1}
	o.Runs = observedRuns(loads, r, 60, func(run *ObservedRun, load float64) {
		luck := runSD * rng.NormFloat64()
		run.Answered = int64(60 * load * (1 + 0.01*rng.NormFloat64()))
		asked := easy
		if inProportion {
			asked = easy[:int(float64(questions)*load/top)]
		}
		for i, p := range asked {
			s := math.Max(0, math.Min(1, p+luck-fallAtTop*(load-loads[0])/(top-loads[0])+0.1*rng.NormFloat64()))
			run.Probes = append(run.Probes, Probe{ID: ids[i], Score: &s})
		}
	})
	return o
}

func TestQualityFall(t *testing.T) {
	eachProbe := func(o *Observation, f func(run *ObservedRun, p *Probe)) {
		for i := range o.Runs {
			for j := range o.Runs[i].Probes {
				f(&o.Runs[i], &o.Runs[i].Probes[j])
			}
		}
	}
	highest := func(run *ObservedRun) bool { return run.Level.OfferedPerS == 80 }
	rows := []struct {
		name      string
		runs      int
		fall      float64
		change    func(o *Observation)
		verdict   Verdict
		indicated bool
		says      string
	}{
		{"8 points", 3, 0.08, nil, Found, true, "accuracy falls by 8"},
		{"one run a load", 1, 0.08, nil, Insufficient, false, "replicate"},
		{"no probe", 3, 0.08, func(o *Observation) {
			for i := range o.Runs {
				o.Runs[i].Probes = nil
			}
		}, Insufficient, false, "replay with probes"},
		{"one load", 3, 0.08, func(o *Observation) { o.Runs = o.Runs[:3] }, Insufficient, false, "two loads"},
		{"two loads, two runs", 2, 0.5, func(o *Observation) { o.Runs = append(o.Runs[:2], o.Runs[14:]...) }, Insufficient, false, "4 runs a load"},
		{"throughput does not rise", 3, 0.08, func(o *Observation) {
			for i := range o.Runs {
				o.Runs[i].Answered = 6000
			}
		}, NotFound, false, "throughput rises by less"},
		{"always right", 3, 0, func(o *Observation) {
			eachProbe(o, func(_ *ObservedRun, p *Probe) { p.Score = new(1.0) })
		}, NotFound, false, "accuracy does not fall"},
		{"few questions", 3, -0.05, nil, Insufficient, false, "more runs"},
		{"failed answers are not wrong ones", 3, 0, func(o *Observation) {
			eachProbe(o, func(r *ObservedRun, p *Probe) {
				if p.Score = new(1.0); highest(r) && len(p.ID) < 3 {
					p.Score = nil
				}
			})
		}, NotFound, false, "accuracy does not fall"},
		{"nor are cut ones", 3, 0, func(o *Observation) {
			eachProbe(o, func(r *ObservedRun, p *Probe) {
				p.Cut = highest(r) && len(p.ID) < 3
				if p.Score = new(1.0); p.Cut {
					p.Score = new(0.0)
				}
			})
		}, NotFound, false, "accuracy does not fall"},
		{"most answers cut at all high loads", 3, 0.08, func(o *Observation) {
			eachProbe(o, func(r *ObservedRun, p *Probe) { p.Cut = r.Level.OfferedPerS > 10 && len(p.ID) == 3 && p.ID[0] == '1' })
		}, Insufficient, true, "cut_answers"},
		{"most answers cut at the highest load", 3, 0.08, func(o *Observation) {
			eachProbe(o, func(r *ObservedRun, p *Probe) { p.Cut = highest(r) && len(p.ID) == 3 && p.ID[0] == '1' })
		}, Found, true, "to 60/s"},
		{"nothing scored", 3, 0, func(o *Observation) {
			eachProbe(o, func(_ *ObservedRun, p *Probe) { p.Score = nil })
		}, Insufficient, false, "scored at two loads"},
	}
	for _, row := range rows {
		o := probed(rand.New(rand.NewPCG(1, 1)), []float64{10, 20, 30, 40, 50, 60, 70, 80}, row.runs, 300, 0.02, row.fall, false)
		if row.change != nil {
			row.change(&o)
		}
		got := Inflections(o)[0]
		checkInflection(t, row.name, got, row.verdict, row.indicated, row.says)
		if row.name == "8 points" && (*got.Effect.Low > -8 || *got.Effect.High < -8) {
			t.Errorf("%s: %g to %g points do not cover -8", row.name, *got.Effect.Low, *got.Effect.High)
		}
	}
}

// Answers that are no longer those of the low load are seen without knowing which
// are right.
func TestSelfAgreement(t *testing.T) {
	for _, row := range []struct {
		other int // every so many answers of the higher load is another
		want  State
		point float64
	}{{10, Holds, -10}, {1000, Fails, 0}} {
		rng := rand.New(rand.NewPCG(1, 1))
		o := probed(rng, []float64{10, 80}, 4, 200, 0.001, 0.1, false)
		for i := range o.Runs {
			for j := range o.Runs[i].Probes {
				o.Runs[i].Probes[j].Answer = new(int32(0))
				if o.Runs[i].Level.OfferedPerS == 80 && j%row.other == row.other-1 {
					o.Runs[i].Probes[j].Answer = new(int32(1))
				}
			}
		}
		e := Inflections(o)[0].Evidence[3]
		if e.Name != "self_agreement" || e.State != row.want || math.Abs(*e.Point-row.point) > 1e-9 {
			t.Errorf("each %d: %+v, want %g points", row.other, e, row.point)
		}
	}
	got := Inflections(probed(rand.New(rand.NewPCG(1, 1)), []float64{10, 80}, 4, 200, 0.001, 0.1, false))[0]
	if e := got.Evidence[3]; e.State != Unknown || e.Text == "" {
		t.Errorf("answers not numbered: %+v", e)
	}
}

func TestCalibrateQualityFall(t *testing.T) {
	n := scale(200, 1000)
	loads := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	for _, c := range []struct {
		name         string
		runs         int
		runSD        float64
		fallAtTop    float64
		inProportion bool
		least, most  float64
	}{
		{"no fall", 3, 0.02, 0, false, 0, 0.065},
		{"6 points", 3, 0.02, 0.06, false, 0.85, 1},
		{"no fall, two runs", 2, 0.02, 0, false, 0, 0.065},
		{"6 points, two runs", 2, 0.02, 0.06, false, 0.76, 1},
		{"no fall, questions in proportion to load, runs alike", 4, 0, 0, true, 0, 0.065},
		{"no fall, questions in proportion to load", 4, 0.02, 0, true, 0, 0.065},
	} {
		checkShare(t, c.name, n, c.least, c.most, func(i int) bool {
			o := probed(rand.New(rand.NewPCG(uint64(i), 2)), loads, c.runs, 300, c.runSD, c.fallAtTop, c.inProportion)
			return Inflections(o)[0].Verdict == Found
		})
	}
}

// checkShare runs n experiments on all cores and compares the share that says
// yes with its bounds, less two and a half standard errors of it.
func checkShare(t *testing.T, name string, n int, least, most float64, yes func(i int) bool) {
	t.Helper()
	hits := 0
	for _, hit := range parallel(n, yes) {
		if hit {
			hits++
		}
	}
	share := float64(hits) / float64(n)
	slack := func(p float64) float64 { return 2.5 * math.Sqrt(p*(1-p)/float64(n)) }
	t.Logf("%s: %.3f of %d, want %g to %g", name, share, n, least, most)
	if share < least-slack(least) || share > most+slack(most) {
		t.Errorf("%s: %.3f of %d, want %g to %g", name, share, n, least, most)
	}
}

// checkInflection compares a verdict, and what its words must hold.
func checkInflection(t *testing.T, name string, got Inflection, verdict Verdict, indicated bool, says string) {
	t.Helper()
	if got.Verdict != verdict || got.Indicated != indicated || !strings.Contains(got.Reason+got.Missing, says) {
		t.Errorf("%s: %s, indicated %v: %s%s; want %s, %v: %s", name, got.Verdict, got.Indicated, got.Reason, got.Missing, verdict, indicated, says)
	}
	for _, e := range got.Evidence {
		if e.Text == "" || e.State == "" || e.Name == "" {
			t.Errorf("%s: evidence without words: %+v", name, e)
		}
	}
	if got.Verdict == Insufficient && got.Missing == "" {
		t.Errorf("%s: insufficient without what is missing", name)
	}
}
