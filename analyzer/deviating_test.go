package analyzer

import (
	"strings"
	"testing"
)

func TestDeviatingRunIsNamed(t *testing.T) {
	plans := func(strange, errors int) []levelPlan {
		var out []levelPlan
		for replicate := range int32(3) {
			for i, load := range []float64{10, 20, 30, 40, 50, 60} {
				p := levelPlan{load: load, replicate: replicate, n: 1000, errors: 10 + (i*7+int(replicate)*5)%6}
				if len(out) == strange {
					p.errors = errors
				}
				out = append(out, p)
			}
		}
		return out
	}
	named := func(a *Analysis) (out []string) {
		for _, w := range a.Warnings {
			if strings.Contains(w, "deviates from the other runs") {
				out = append(out, w)
			}
		}
		return out
	}
	// The second run at 60/s, the highest load, of a service that fails a little
	// more with load: the existence test alone would take it for a knee.
	a := analyze(t, plans(11, 100), Options{}, nil)
	if got := named(a); len(got) != 1 || !strings.HasPrefix(got[0], "level 12 (60/s): deviates from the other runs of its load: 10 % failed, 1.4 % in the others") {
		t.Errorf("named: %q", got)
	}
	if c := a.LambdaC; c.Verdict != Insufficient || !strings.HasPrefix(c.Missing, "the rise rests on a single run: level 12 (60/s)") {
		t.Errorf("one deviating run made a knee: %+v", c)
	}
	if got := named(analyze(t, plans(11, 18), Options{}, nil)); len(got) != 0 {
		t.Errorf("named within chance: %q", got)
	}
}
