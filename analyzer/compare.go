package analyzer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// CompareOptions of a comparison; the zero value works.
type CompareOptions struct {
	// Tolerance is the relative change of a latency or a throughput that does
	// not matter; 0 = 5 %.
	Tolerance float64
	// RateTolerance is the change of a share of requests that does not matter;
	// 0 = 0.5 % of all requests.
	RateTolerance float64
	// Objectives that an answer has to meet to count as goodput; those on rates
	// are of no single answer and count for nothing here.
	Objectives []Objective
	// Seed of all resampling; 0 = 1.
	Seed uint64
	// Version of the tool, written to the result.
	Version string
}

func (o CompareOptions) withDefaults() CompareOptions {
	if o.Tolerance == 0 {
		o.Tolerance = 0.05
	}
	if o.RateTolerance == 0 {
		o.RateTolerance = 0.005
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	return o
}

func (o CompareOptions) tolerance(m compared) float64 {
	if m.kind == rateDifference {
		return o.RateTolerance
	}
	return o.Tolerance
}

// ErrIncomparable reports runs that differ in more than the service.
var ErrIncomparable = errors.New("the runs cannot be compared")

// Compare compares a candidate with a baseline, two run directories of one
// trace, request by request: which metrics are better, worse or equivalent. The
// control, nil for none, is another run of the baseline's build: where it
// differs from the baseline, the environment moved and nothing is proven. It
// needs 40 bytes of memory per request of each arm.
//
// Errors match [ErrNoRun] and [ErrIncomparable]; an invalid run is a verdict.
func Compare(baseline, candidate, control *tracedir.Dir, o CompareOptions) (*Comparison, error) {
	o = o.withDefaults()
	reader := pairReader{objectives: slices.DeleteFunc(slices.Clone(o.Objectives), Objective.isRate)}
	var arms []*arm
	for _, d := range []*tracedir.Dir{baseline, candidate, control} {
		if d == nil {
			arms = append(arms, nil)
			continue
		}
		if len(arms) > 0 {
			if err := comparable(baseline, d); err != nil {
				return nil, err
			}
		}
		a, err := readArm(d, &reader)
		if err != nil {
			return nil, err
		}
		arms = append(arms, a)
	}
	c := newComparison(arms, o)
	c.warnOfIdentity(baseline, candidate, control)
	metrics, in := comparedMetrics(), presentIn(arms[0], arms[1])
	c.judge(metrics, primaryOf(metrics, in), in, matched(arms[0], arms[1]), matched(arms[0], arms[2]), o)
	c.countClasses(reader.kinds, arms[0], arms[1])
	c.conclude()
	return c, nil
}

// arm is one side of a comparison.
type arm struct {
	Arm

	runs     []*armRun
	warnings []string
}

func readArm(d *tracedir.Dir, reader *pairReader) (*arm, error) {
	levels, err := readLevels(d)
	if err != nil {
		return nil, err
	}
	runs, err := readRuns(d, levels, nil, new(aside))
	if err != nil {
		return nil, fmt.Errorf("compare %q: %w", d.Path(), err)
	}
	m := d.Manifest()
	a := &arm{Arm: Arm{
		Name: d.Path(), TraceID: m.Run.TraceID, Target: m.Run.Target,
		Validity: validityOf(m.Run.Validity, runs), Runs: len(runs),
	}}
	for _, w := range slices.Concat(d.Warnings(), m.Warnings) {
		a.warnings = append(a.warnings, d.Path()+": "+w)
	}
	for _, r := range runs {
		if len(r.reasons) == 0 {
			a.Judged++
			a.N += r.tally.Offered()
			a.Errors += r.tally.Failed()
		}
	}
	if a.Validity.Verdict != trace.Valid {
		return a, nil // shown, never judged
	}
	if a.runs, err = reader.read(d, runs); err != nil {
		return nil, fmt.Errorf("compare %q: %w", d.Path(), err)
	}
	return a, nil
}

// comparable says why two runs differ in more than the service; nil where they
// do not.
func comparable(a, b *tracedir.Dir) error {
	x, y := a.Manifest(), b.Manifest()
	for _, m := range []*trace.Manifest{x, y} {
		if m.Run == nil {
			return fmt.Errorf("compare: %w: a trace is no run; replay it first", ErrNoRun)
		}
	}
	var why []string
	for _, part := range []struct{ name, a, b string }{
		{"trace", x.Run.TraceID, y.Run.TraceID},
		{"loop", x.Run.Loop, y.Run.Loop},
		{"scaling", x.Run.Scaling, y.Run.Scaling},
		{"sessions", x.Run.Sessions, y.Run.Sessions},
		{"cache state", x.Run.Cache, y.Run.Cache},
		{"settings", strings.Join(x.Run.Knobs, " "), strings.Join(y.Run.Knobs, " ")},
		{"sanitizer mode", modeOf(x), modeOf(y)},
	} {
		if part.a != part.b {
			why = append(why, fmt.Sprintf("%s %q and %q", part.name, part.a, part.b))
		}
	}
	if len(why) > 0 {
		return fmt.Errorf("compare %q with %q: %w: %s", b.Path(), a.Path(), ErrIncomparable, strings.Join(why, ", "))
	}
	return nil
}

func modeOf(m *trace.Manifest) string {
	if m.Seal == nil {
		return ""
	}
	return string(m.Seal.Mode)
}

// pairing is two arms brought together.
type pairing struct {
	Pairing

	units []unit
	// samples are the units of each arm where Unit is "unpaired": the candidate's
	// values are in theirs as the baseline's are.
	samples [2][]unit
}

// measure takes effect, intervals and p-value of one metric.
func (p *pairing) measure(m compared, index int, o CompareOptions) judged {
	if p.Unit == "unpaired" {
		return measureSamples(m, index, p.samples, o.tolerance(m))
	}
	return measureMetric(m, index, p.units, o.tolerance(m), o.Seed)
}

// matched pairs the units of two arms; nil where one is not there.
func matched(base, cand *arm) *pairing {
	if base == nil || cand == nil {
		return nil
	}
	units, p := match(base.runs, cand.runs, comparedMetrics())
	return &pairing{Pairing: p, units: units}
}

// presentIn says which metrics any answered request of the arms has.
func presentIn(base, cand *arm) []present {
	metrics := comparedMetrics()
	out := make([]present, len(metrics))
	for i := range metrics {
		out[i] = present{base.has(&metrics[i]), cand.has(&metrics[i])}
	}
	return out
}

func (a *arm) has(m *compared) bool {
	for _, r := range a.runs {
		if m.kind == rateDifference && len(r.rows) > 0 {
			return true
		}
		for i := range r.rows {
			if r.rows[i].class == trace.ClassOK && r.rows[i].values[m.of] >= 0 {
				return true
			}
		}
	}
	return false
}

func newComparison(arms []*arm, o CompareOptions) *Comparison {
	c := &Comparison{
		Schema: ComparisonSchema, Version: o.Version, Warnings: []string{}, Reasons: []string{},
		Baseline: arms[0].Arm, Candidate: arms[1].Arm,
		Metrics: []MetricVerdict{}, Classes: []ClassPair{},
		Methods: ComparisonMethods{Seed: o.Seed, Permutations: permutations, Alpha: alpha, Formulas: comparedFormulas()},
	}
	for _, a := range arms {
		if a != nil {
			c.Warnings = append(c.Warnings, a.warnings...)
		}
	}
	if arms[2] != nil {
		c.Control = &arms[2].Arm
	}
	return c
}

// warnOfIdentity tells of one directory given twice, and of seeds that differ.
func (c *Comparison) warnOfIdentity(baseline, candidate, control *tracedir.Dir) {
	for _, other := range []*tracedir.Dir{candidate, control} {
		if other == nil {
			continue
		}
		if other.Manifest().TraceID == baseline.Manifest().TraceID {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s and %s are one run", baseline.Path(), other.Path()))
		}
		if other.Manifest().Run.Seed != baseline.Manifest().Run.Seed {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s and %s were replayed with different seeds: requests were due at different times", baseline.Path(), other.Path()))
		}
	}
}

// judge fills the metrics.
func (c *Comparison) judge(metrics []compared, primary []string, in []present, p, control *pairing, o CompareOptions) {
	c.Pairing = p.Pairing
	var all []judged
	for i, m := range metrics {
		all = append(all, p.measure(m, i, o))
	}
	for _, name := range primary {
		at := slices.IndexFunc(all, func(j judged) bool { return j.Metric == name })
		if at >= 0 {
			all[at].Primary = true
		}
	}
	adjust(all)
	doubt := c.doubt()
	for i := range all {
		j, why := &all[i], cmp.Or(doubt, c.fewFor(&all[i]))
		if control != nil {
			if s := j.unstable(control.measure(j.metric, i, o)); why == "" {
				why = s
			}
		}
		if j.N == 0 && j.Missing == "" {
			j.Missing = in[i].absence()
		}
		if why != "" {
			j.Missing = why
		}
		j.decide(why)
	}
	slices.SortStableFunc(all, func(a, b judged) int {
		switch {
		case a.Primary == b.Primary:
			return 0
		case a.Primary:
			return -1
		}
		return 1
	})
	for _, j := range all {
		c.Metrics = append(c.Metrics, j.MetricVerdict)
	}
}

// doubt says why no metric may be judged at all.
func (c *Comparison) doubt() string {
	for _, a := range []struct {
		name string
		arm  *Arm
	}{{"baseline", &c.Baseline}, {"candidate", &c.Candidate}, {"control", c.Control}} {
		if a.arm != nil && a.arm.Validity.Verdict != trace.Valid {
			return "a valid run: the " + a.name + " is invalid"
		}
	}
	few := c.Pairing.Unit == "block" || c.Pairing.Unit == "run" && c.Pairing.Units < minUnits
	if few && c.Control == nil {
		return fmt.Sprintf("%d runs in both arms, or a control: from fewer nothing tells whether builds or merely runs differ", minUnits)
	}
	return ""
}

// fewFor says why one metric may not be judged where the others may: only a few
// of the runs have it.
func (c *Comparison) fewFor(j *judged) string {
	if c.Pairing.Unit != "run" || c.Control != nil || j.Units == 0 || j.Units >= minUnits {
		return ""
	}
	why := fmt.Sprintf("%d runs that have it in both arms, there are %d", minUnits, j.Units)
	if j.short > 0 {
		why += fmt.Sprintf("; it takes %d requests a run", j.short)
	}
	return why
}

// countClasses counts the API families of the runs compared.
func (c *Comparison) countClasses(kinds []trace.APIKind, base, cand *arm) {
	counts := make([]ClassPair, len(kinds))
	for _, b := range base.runs {
		other := partner(cand.runs, b)
		if other == nil {
			continue
		}
		for _, r := range b.rows {
			counts[r.api].BaselineN++
			if r.class == trace.ClassOK {
				counts[r.api].BaselineAnswered++
			}
		}
		for _, r := range other.rows {
			counts[r.api].CandidateN++
			if r.class == trace.ClassOK {
				counts[r.api].CandidateAnswered++
			}
		}
	}
	for i, k := range kinds {
		counts[i].Class = string(k)
		counts[i].Missing = counts[i].BaselineAnswered > 0 && counts[i].CandidateAnswered == 0
		c.Classes = append(c.Classes, counts[i])
	}
	slices.SortFunc(c.Classes, func(a, b ClassPair) int { return strings.Compare(a.Class, b.Class) })
}

// conclude draws the verdict of the whole: a proven regression first, then what
// is not proven or not there.
func (c *Comparison) conclude() {
	var worse, open []string
	for _, m := range c.Metrics {
		switch {
		case m.Verdict == Worse:
			worse = append(worse, fmt.Sprintf("%s is worse: %s", m.Metric, changeText(m.Effect)))
		case m.Primary && !m.NoRegression:
			open = append(open, fmt.Sprintf("%s: no regression is not proven", m.Metric))
			if m.Missing != "" {
				open[len(open)-1] += "; it takes " + m.Missing
			}
		}
	}
	for _, class := range c.Classes {
		if class.Missing {
			open = append(open, fmt.Sprintf("class %s: the baseline answered %d, the candidate none", class.Class, class.BaselineAnswered))
		}
	}
	if len(c.Pairing.MissingLoads) > 0 {
		open = append(open, fmt.Sprintf("loads %s can be judged in the baseline, not in the candidate", listLoads(c.Pairing.MissingLoads)))
	}
	c.Reasons = append(c.Reasons, append(worse, open...)...)
	switch {
	case len(worse) > 0:
		c.Verdict = Regression
	case len(open) > 0:
		c.Verdict = Undecided
	default:
		c.Verdict = Pass
	}
	if share := c.Pairing.Requests; share > 0 && c.Pairing.OnlyBaseline > share/10 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d requests of the baseline have no partner in the candidate, %d have", c.Pairing.OnlyBaseline, share))
	}
}

// comparedFormulas name the method of each quantity.
func comparedFormulas() map[string]string {
	return map[string]string{
		"latency":    "per unit the mean of log(candidate / baseline) over requests answered in both arms; t interval over units",
		"quantile":   "per unit the log ratio of type-7 quantiles over requests answered in both arms; t interval over units",
		"total":      "log ratio of tokens, or of answers that met every objective, per second of each run; t interval over units",
		"rate":       "difference of the totals; hull of the t interval over units and Newcombe's method 10",
		"p_value":    "from 12 units on permutation of the signs of their differences, else t test; of rates the greater of it and McNemar's exact test on counts deflated by their clustering in units",
		"unpaired":   "Hodges-Lehmann shift of the logarithms, of rates of the shares, with its exact interval; exact Mann-Whitney test",
		"p_adjusted": "Holm over primary metrics, Benjamini-Hochberg over the others",
		"equivalent": "two one-sided tests at 5 %: the 90 % interval lies within the tolerance",
		"worse":      "p_adjusted < 5 % and the 95 % interval beyond the tolerance",
		"better":     "p_adjusted < 5 % and the 95 % interval beyond no change",
		"ratio_low":  "one-sided 95 % exact conditional bound",
	}
}
