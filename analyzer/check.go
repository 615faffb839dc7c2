package analyzer

import (
	"fmt"
	"strconv"

	"github.com/lambdac/lambdac/trace"
)

// Floor is a load that the service has to reach.
type Floor struct {
	// Metric is lambda_c or lambda_slo.
	Metric string
	// MinPerS is the lowest good value, requests per second, above 0.
	MinPerS float64
}

// FloorMetrics are the metrics that a [Floor] can have.
var FloorMetrics = []string{"lambda_c", "lambda_slo"}

// CheckVerdict is the answer of one check.
type CheckVerdict string

const (
	// CheckPass: the limit is proven to be kept.
	CheckPass CheckVerdict = "pass"
	// CheckMissed: it is proven to be broken.
	CheckMissed CheckVerdict = "missed"
	// CheckUndecided: the data cannot tell.
	CheckUndecided CheckVerdict = "undecided"
)

// Check is one limit that a run was judged by.
type Check struct {
	// Name is the limit as text.
	Name    string       `json:"name"`
	Verdict CheckVerdict `json:"verdict"`
	// Detail says what was measured, or what is missing.
	Detail string `json:"detail"`
}

// Checks judges an analysis by its objectives and by floors, in this order. An
// objective passes where it is proven to hold at some load of the run, and is
// missed where it is proven broken at the lowest; a floor passes where the
// whole interval (λc) or the proven end of the bracket (λ_SLO) reaches it. A
// run that is not valid decides nothing.
func Checks(a *Analysis, floors []Floor) []Check {
	checks := make([]Check, 0, len(a.Objectives)+len(floors))
	for i := range a.Objectives {
		checks = append(checks, checkObjective(&a.Objectives[i]))
	}
	for _, f := range floors {
		checks = append(checks, checkFloor(a, f))
	}
	if a.Validity.Verdict != trace.Valid {
		for i := range checks {
			checks[i].Verdict, checks[i].Detail = CheckUndecided, "the run is not valid"
		}
	}
	return checks
}

func checkObjective(s *LambdaSLO) Check {
	c := Check{Verdict: CheckUndecided, Detail: s.Reason}
	if s.SLO != nil {
		c.Name = *s.SLO
	}
	switch {
	case s.Verdict == Insufficient:
	case s.Low != nil:
		c.Verdict, c.Detail = CheckPass, "holds up to "+perS(*s.Low)
		if s.High != nil {
			c.Detail += ", is broken at " + perS(*s.High)
		}
	case s.Verdict == Found:
		c.Verdict, c.Detail = CheckMissed, "is broken at the lowest load that was run"
		if s.High != nil {
			c.Detail += ", " + perS(*s.High)
		}
	}
	return c
}

func checkFloor(a *Analysis, f Floor) Check {
	c := Check{Name: fmt.Sprintf("%s at least %s", f.Metric, perS(f.MinPerS)), Verdict: CheckUndecided}
	if f.Metric == "lambda_c" {
		low := a.LambdaC.Low
		if a.LambdaC.Verdict == NotFound { // it lies above every load that was run
			low = highestJudged(a)
		}
		c.Verdict, c.Detail = reaches(low, a.LambdaC.High, f.MinPerS, a.LambdaC.Missing)
		return c
	}
	// λ_SLO is where the first objective breaks: all have to reach it.
	c.Detail = "no objective was given"
	for i := range a.Objectives {
		o := &a.Objectives[i]
		verdict, detail := reaches(o.Low, o.High, f.MinPerS, o.Reason)
		if o.SLO != nil {
			detail = *o.SLO + ": " + detail
		}
		if i == 0 || worse(verdict, c.Verdict) {
			c.Verdict, c.Detail = verdict, detail
		}
	}
	return c
}

// worse reports whether a verdict weighs more than another.
func worse(v, than CheckVerdict) bool {
	weight := map[CheckVerdict]int{CheckPass: 0, CheckUndecided: 1, CheckMissed: 2}
	return weight[v] > weight[than]
}

// reaches says whether a load that is proven to lie between two others, nil =
// not known, is least or more.
func reaches(low, high *float64, least float64, missing string) (v CheckVerdict, detail string) {
	switch {
	case low != nil && *low >= least:
		return CheckPass, "at least " + perS(*low)
	case high != nil && *high <= least:
		return CheckMissed, "below " + perS(*high)
	case low != nil && high != nil:
		return CheckUndecided, fmt.Sprintf("between %s and %s: run more levels there", perS(*low), perS(*high))
	case low != nil:
		return CheckUndecided, fmt.Sprintf("at least %s: nothing is proven above it", perS(*low))
	case high != nil:
		return CheckUndecided, fmt.Sprintf("below %s: nothing is proven under it", perS(*high))
	}
	return CheckUndecided, missing
}

// highestJudged is the highest load that could be judged; nil = none.
func highestJudged(a *Analysis) *float64 {
	for i := len(a.Levels) - 1; i >= 0; i-- {
		if a.Levels[i].Judged {
			return &a.Levels[i].OfferedPerS
		}
	}
	return nil
}

func perS(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) + "/s" }
