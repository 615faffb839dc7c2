package analyzer

// candidate is something that may break first.
type candidate struct {
	name      string
	broke     bool
	low, high *float64
}

// findFirstToBreak compares the onsets of sheds, of other errors and of the
// objectives. An objective on a rate counts just these failures: it is no rival
// of theirs, and named only where neither has an onset.
func (a *Analysis) findFirstToBreak(loads []*load, objectives []Objective) {
	candidates := []candidate{
		breaking("sheds", judgeTransition(sampleOf(loads, shedFailures), a.closed(), a.Methods.Seed).c),
		breaking("errors", judgeTransition(sampleOf(loads, hardFailures), a.closed(), a.Methods.Seed).c),
	}
	failing := candidates[0].broke || candidates[1].broke
	for i, o := range a.Objectives {
		if failing && objectives[i].isRate() {
			continue
		}
		candidates = append(candidates, candidate{name: *o.SLO, broke: o.High != nil, low: o.Low, high: o.High})
	}
	a.FirstToBreak, a.FirstToBreakReason = firstOf(candidates)
}

func breaking(name string, c LambdaC) candidate {
	return candidate{name: name, broke: c.Verdict == Found, low: c.Low, high: c.High}
}

// firstOf returns the candidate whose bracket lies wholly below all others.
func firstOf(candidates []candidate) (*FirstToBreak, string) {
	var first *candidate
	for i, c := range candidates {
		switch {
		case !c.broke:
		case c.low == nil || c.high == nil:
			return nil, "the onset of " + c.name + " has an open end"
		case first == nil || *c.high < *first.high:
			first = &candidates[i]
		}
	}
	if first == nil {
		return nil, "nothing is proven to break at the loads that were run"
	}
	for _, c := range candidates {
		if c.broke && c.name != first.name && *c.low <= *first.high {
			return nil, "the onsets of " + first.name + " and " + c.name + " overlap"
		}
	}
	return &FirstToBreak{Name: first.name, Low: *first.low, High: *first.high}, ""
}
