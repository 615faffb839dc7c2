package analyzer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestChecks(t *testing.T) {
	objective := func(v Verdict, low, high *float64) LambdaSLO {
		return LambdaSLO{Verdict: v, SLO: new("error_rate 1%"), Low: low, High: high, Reason: "too few"}
	}
	valid := Validity{Verdict: trace.Valid}
	levels := []Level{{OfferedPerS: 10, Judged: true}, {OfferedPerS: 20, Judged: true}, {OfferedPerS: 30}}
	slo := func(min float64) []Floor { return []Floor{{"lambda_slo", min}} }
	critical := func(min float64) []Floor { return []Floor{{"lambda_c", min}} }
	for _, tt := range []struct {
		name   string
		a      Analysis
		floors []Floor
		want   string
	}{
		{"holds and breaks", Analysis{Objectives: []LambdaSLO{objective(Found, new(10.0), new(20.0))}}, nil, "pass holds up to 10/s, is broken at 20/s"},
		{"holds everywhere", Analysis{Objectives: []LambdaSLO{objective(NotFound, new(20.0), nil)}}, nil, "pass holds up to 20/s"},
		{"broken everywhere", Analysis{Objectives: []LambdaSLO{objective(Found, nil, new(10.0))}}, nil, "missed is broken at the lowest load that was run, 10/s"},
		{"cannot tell", Analysis{Objectives: []LambdaSLO{objective(Insufficient, nil, nil)}}, nil, "undecided too few"},
		{"a floor under the bracket", Analysis{Objectives: []LambdaSLO{objective(Found, new(10.0), new(20.0))}}, slo(10), "pass …; pass error_rate 1%: at least 10/s"},
		{"a floor over it", Analysis{Objectives: []LambdaSLO{objective(Found, new(10.0), new(20.0))}}, slo(20), "pass …; missed error_rate 1%: below 20/s"},
		{"a floor in it", Analysis{Objectives: []LambdaSLO{objective(Found, new(10.0), new(20.0))}}, slo(15), "pass …; undecided error_rate 1%: between 10/s and 20/s: run more levels there"},
		{"a floor above all loads", Analysis{Objectives: []LambdaSLO{objective(NotFound, new(20.0), nil)}}, slo(25), "pass …; undecided error_rate 1%: at least 20/s: nothing is proven above it"},
		{"the worst objective counts", Analysis{Objectives: []LambdaSLO{objective(NotFound, new(20.0), nil), objective(Insufficient, nil, nil)}}, slo(15), "pass …; undecided too few; undecided error_rate 1%: too few"},
		{"no objective", Analysis{}, slo(15), "undecided no objective was given"},
		{"λc above", Analysis{LambdaC: LambdaC{Verdict: Found, Low: new(15.0), High: new(18.0)}}, critical(15), "pass at least 15/s"},
		{"λc below", Analysis{LambdaC: LambdaC{Verdict: Found, Low: new(15.0), High: new(18.0)}}, critical(19), "missed below 18/s"},
		{"no λc up to 20", Analysis{LambdaC: LambdaC{Verdict: NotFound}, Levels: levels}, critical(20), "pass at least 20/s"},
		{"no λc up to 20, 25 asked", Analysis{LambdaC: LambdaC{Verdict: NotFound}, Levels: levels}, critical(25), "undecided at least 20/s: nothing is proven above it"},
		{"λc not known", Analysis{LambdaC: LambdaC{Verdict: Insufficient, Missing: "errors"}, Levels: levels}, critical(25), "undecided errors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Validity = valid
			var got []string
			for i, c := range Checks(&tt.a, tt.floors) {
				line := string(c.Verdict) + " " + c.Detail
				if strings.HasPrefix(strings.Split(tt.want, "; ")[i], "pass …") && c.Verdict == CheckPass {
					line = "pass …"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
			tt.a.Validity = Validity{Verdict: trace.Invalid}
			for _, c := range Checks(&tt.a, tt.floors) {
				if c.Verdict != CheckUndecided {
					t.Errorf("%s in a run that is not valid: %s", c.Name, c.Verdict)
				}
			}
		})
	}
}
