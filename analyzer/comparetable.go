package analyzer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// CompareTables compares the results of another tool with each other, as
// [Compare] does run directories: line by line of equal load, run and class.
// Requests cannot be paired. Where both tables have one load and not the same
// number of runs, these are compared as two samples.
//
// Errors match [ErrIncomparable].
func CompareTables(baseline, candidate, control *Table, o CompareOptions) (*Comparison, error) {
	o = o.withDefaults()
	arms := []*arm{tableArm(baseline), tableArm(candidate), nil}
	for _, t := range []*Table{candidate, control} {
		if t != nil && t.Closed != baseline.Closed {
			return nil, fmt.Errorf("compare %q with %q: %w: one has a rate as its load, the other a number in flight", t.Name, baseline.Name, ErrIncomparable)
		}
	}
	if control != nil {
		arms[2] = tableArm(control)
	}
	c := newComparison(arms, o)
	metrics := tableMetrics(baseline, candidate)
	in := make([]present, len(metrics))
	for i := range metrics {
		in[i] = present{baseline.has(&metrics[i]), candidate.has(&metrics[i])}
	}
	var again *pairing
	if control != nil {
		again = matchTables(baseline, control, metrics)
	}
	matched := matchTables(baseline, candidate, metrics)
	if paired := len(matched.units); matched.Unit == "run" && (paired < len(baseline.rows) || paired < len(candidate.rows)) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d lines of the baseline and %d of the candidate were compared by load, run and class: %d pairs", len(baseline.rows), len(candidate.rows), paired))
	}
	c.judge(metrics, tablePrimary(metrics), in, matched, again, o)
	c.Classes = tableClasses(baseline, candidate)
	c.conclude()
	return c, nil
}

// tableArm is a table as one side of a comparison.
func tableArm(t *Table) *arm {
	a := &arm{Arm: Arm{Name: t.Name, Validity: Validity{Verdict: trace.Valid, Reasons: []string{}}}, warnings: t.Warnings}
	for _, rows := range t.grouped() {
		a.Runs++
		if reasons := rows.invalid(); len(reasons) > 0 {
			a.Validity.Reasons = append(a.Validity.Reasons, reasons...)
			continue
		}
		a.Judged++
		for _, r := range rows {
			a.N, a.Errors = a.N+r.n, a.Errors+r.errors
		}
	}
	if a.Judged == 0 {
		a.Validity.Verdict = trace.Invalid
	}
	return a
}

// tableMetrics are the metrics that either table has.
func tableMetrics(base, cand *Table) []compared {
	metrics := []compared{
		{name: "error_rate", kind: rateDifference, class: trace.ClassError},
		{name: "shed_rate", kind: rateDifference, class: trace.ClassShed},
		{name: "output_tokens_per_s", kind: totalRatio, higherIsBetter: true},
	}
	for _, t := range []*Table{base, cand} {
		for _, q := range t.quantiles {
			known := func(m compared) bool { return m.name == q.String() }
			if !slices.ContainsFunc(metrics, known) {
				metrics = append(metrics, compared{name: q.String(), kind: quantileRatio, quantile: q.quantile})
			}
		}
	}
	return slices.DeleteFunc(metrics, func(m compared) bool { return !base.has(&m) && !cand.has(&m) })
}

// tablePrimary names the metrics that decide: failures, and of the latencies the
// highest quantile of the time to first token, or else of the whole time.
func tablePrimary(metrics []compared) []string {
	primary := []string{"error_rate"}
	for _, of := range []string{"ttft_user_p", "e2e_p"} {
		best := compared{quantile: -1}
		for _, m := range metrics {
			if strings.HasPrefix(m.name, of) && m.quantile > best.quantile && m.quantile <= 0.99 {
				best = m
			}
		}
		if best.quantile > 0 {
			return append(primary, best.name)
		}
	}
	return primary
}

// value is a metric of a line; ok is false where it is not known.
func (t *Table) value(r *tableRow, m *compared) (v float64, ok bool) {
	switch m.name {
	case "error_rate":
		return float64(r.errors) / float64(r.n), true
	case "shed_rate":
		return float64(r.sheds) / float64(r.n), r.sheds >= 0
	case "output_tokens_per_s":
		return r.tokensPerS, r.tokensPerS > 0
	}
	for i, q := range t.quantiles {
		if q.String() == m.name {
			return r.ms[i], r.ms[i] > 0
		}
	}
	return 0, false
}

func (t *Table) has(m *compared) bool {
	return slices.ContainsFunc(t.rows, func(r tableRow) bool { _, ok := t.value(&r, m); return ok })
}

// tablePlace is what lines of two tables have in common that belong together.
type tablePlace struct {
	load       float64
	class, run string
	nth        int
}

// placed are the judged lines of a table by their place, in order.
func (t *Table) placed() (places []tablePlace, rows map[tablePlace]*tableRow) {
	rows = make(map[tablePlace]*tableRow)
	next := make(map[tablePlace]int)
	for i := range t.rows {
		r := &t.rows[i]
		if len(runRows{r}.invalid()) > 0 {
			continue
		}
		at := tablePlace{load: r.load, class: r.class, run: r.run}
		if r.run == "" {
			at.nth = next[at]
			next[tablePlace{load: r.load, class: r.class}]++
		}
		places, rows[at] = append(places, at), r
	}
	return places, rows
}

// matchTables pairs the lines of two tables.
func matchTables(base, cand *Table, metrics []compared) *pairing {
	p := &pairing{Pairing: Pairing{Unit: "run", Loads: []float64{}, MissingLoads: []float64{}}}
	places, before := base.placed()
	others, after := cand.placed()
	for _, at := range places {
		if other := after[at]; other != nil {
			p.units = append(p.units, tableUnit(base, cand, before[at], other, metrics))
		}
		switch has := slices.ContainsFunc(others, func(o tablePlace) bool { return sameLoad(o.load, at.load) }); {
		case has && !slices.Contains(p.Loads, at.load):
			p.Loads = append(p.Loads, at.load)
		case !has && !slices.Contains(p.MissingLoads, at.load):
			p.MissingLoads = append(p.MissingLoads, at.load)
		}
	}
	slices.Sort(p.Loads)
	slices.Sort(p.MissingLoads)
	if len(places) != len(others) && alike(append(slices.Clone(places), others...)) {
		p.Unit = "unpaired"
		for side, t := range []*Table{base, cand} {
			order, rows := t.placed()
			for _, at := range order {
				p.samples[side] = append(p.samples[side], tableUnit(t, t, rows[at], rows[at], metrics))
			}
		}
		p.units = append(p.samples[0], p.samples[1]...)
	}
	p.Units = len(p.units)
	return p
}

// alike reports whether lines are of one load and class.
func alike(places []tablePlace) bool {
	return !slices.ContainsFunc(places, func(at tablePlace) bool {
		return !sameLoad(at.load, places[0].load) || at.class != places[0].class
	})
}

// tableUnit compares two lines.
func tableUnit(base, cand *Table, before, after *tableRow, metrics []compared) unit {
	u := unit{cells: make([]cell, len(metrics))}
	for i := range metrics {
		m := &metrics[i]
		x, ok := base.value(before, m)
		y, too := cand.value(after, m)
		if !ok || !too {
			continue
		}
		c := cell{n: before.n, candN: after.n, base: x, cand: y}
		if m.kind != rateDifference {
			c.difference = math.Log(y / x)
			u.cells[i] = c
			continue
		}
		c.baseFailed, c.candFailed = before.errors, after.errors
		if m.class == trace.ClassShed {
			c.baseFailed, c.candFailed = before.sheds, after.sheds
		}
		u.cells[i] = c.asRate()
	}
	return u
}

// tableClasses counts the classes of both tables.
func tableClasses(base, cand *Table) []ClassPair {
	classes := []ClassPair{}
	at := func(name string) *ClassPair {
		i := slices.IndexFunc(classes, func(c ClassPair) bool { return c.Class == name })
		if i < 0 {
			i, classes = len(classes), append(classes, ClassPair{Class: name})
		}
		return &classes[i]
	}
	for _, r := range base.rows {
		c := at(r.class)
		c.BaselineN, c.BaselineAnswered = c.BaselineN+r.n, c.BaselineAnswered+r.n-r.errors
	}
	for _, r := range cand.rows {
		c := at(r.class)
		c.CandidateN, c.CandidateAnswered = c.CandidateN+r.n, c.CandidateAnswered+r.n-r.errors
	}
	for i := range classes {
		classes[i].Missing = classes[i].BaselineAnswered > 0 && classes[i].CandidateAnswered == 0
	}
	slices.SortFunc(classes, func(a, b ClassPair) int { return strings.Compare(a.Class, b.Class) })
	return classes
}
