package analyzer

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// scalingLoads are loads of a service that follows the law, two runs each with
// 2 % of noise.
func scalingLoads(law stats.USL, concurrency []float64) []*load {
	rng := rand.New(rand.NewPCG(1, 14))
	var loads []*load
	for _, n := range concurrency {
		l := &load{perS: n, steady: true}
		for range 2 {
			x := law.Throughput(n) * math.Exp(0.02*rng.NormFloat64())
			answers := int64(math.Round(x * 1000))
			l.judged = append(l.judged, &run{
				level: trace.Level{OfferedPerS: n, EndUnixNs: 1000 * second}, tally: trace.Tally{OK: answers},
				answeredUs: int64(float64(answers) * n / x * 1e6),
			})
		}
		loads = append(loads, l)
	}
	return loads
}

func TestUSL(t *testing.T) {
	peaked := stats.USL{Gamma: 10, Alpha: 0.02, Beta: 1e-3} // peak at 31.3
	tests := []struct {
		name        string
		law         stats.USL
		concurrency []float64
		verdict     Verdict
		reason      string
	}{
		{"peak inside", peaked, []float64{1, 5, 10, 20, 40, 60, 80}, Found, ""},
		{"peak far above", peaked, []float64{1, 3, 6, 9, 12, 15, 18}, NotFound, "no peak within range"},
		{"no peak at all", stats.USL{Gamma: 10, Alpha: 0.05}, []float64{1, 5, 10, 20, 40, 60, 80}, NotFound, "no peak within range"},
		{"five loads", peaked, []float64{1, 5, 10, 20, 40}, Insufficient, "needs 6 steady loads"},
	}
	for _, test := range tests {
		for _, closed := range []bool{true, false} {
			loads := scalingLoads(test.law, test.concurrency)
			u := uslOf(loads, closed, 1)
			if u.Verdict != test.verdict || !strings.Contains(u.Reason, test.reason) || (u.Reason == "") != (test.reason == "") {
				t.Errorf("%s, closed %v: %s %q", test.name, closed, u.Verdict, u.Reason)
				continue
			}
			if u.Verdict == Insufficient {
				if u.Alpha.Point != nil {
					t.Errorf("%s: not fitted, but alpha is %v", test.name, *u.Alpha.Point)
				}
				continue
			}
			if a := u.Alpha; *a.Low > test.law.Alpha || test.law.Alpha > *a.High {
				t.Errorf("%s: alpha %g–%g", test.name, *a.Low, *a.High)
			}
			if p := u.PeakConcurrency; (p.Point != nil) != (u.Verdict == Found) {
				t.Errorf("%s: peak %+v", test.name, p)
			} else if p.Point != nil && (*p.Low > test.law.Peak() || test.law.Peak() > *p.High || !near(*u.PeakPerS.Point, test.law.Top(), 0.05)) {
				t.Errorf("%s: peak %g, %g–%g with %g/s", test.name, *p.Point, *p.Low, *p.High, *u.PeakPerS.Point)
			}
		}
	}
	loads := scalingLoads(peaked, []float64{1, 5, 10, 20, 40, 60})
	loads[5].steady = false
	if u := uslOf(loads, true, 1); u.Verdict != Insufficient {
		t.Errorf("a load that is not steady was fitted: %+v", u)
	}
}

func TestAnalyzeUSL(t *testing.T) {
	u := analyze(t, sheddingPlans(1000), Options{}, nil).USL
	if u == nil || u.Concurrency != "mean" || u.Runs != 9 || u.Verdict == Found {
		t.Fatalf("%+v", u)
	}
	if u := analyze(t, sheddingPlans(200)[:3], Options{}, nil).USL; u.Verdict != Insufficient || u.Reason == "" {
		t.Errorf("three loads: %+v", u)
	}
}
